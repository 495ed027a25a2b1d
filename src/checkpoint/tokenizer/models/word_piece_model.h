// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/tokenizer/models/subword_model.h"

namespace lime {

struct WordPieceOptions {
  std::string unknown_token = "[UNK]";
  /// Prefix of tokens that continue a word.
  std::string continuing_subword_prefix = "##";
  /// A longer word is unknown.
  std::size_t max_input_chars_per_word = 100;
};

/// BERT's model: splits a word from the left into the longest matching tokens, or returns the
/// unknown token for a word that cannot be split completely. Time at most the length of the word
/// times that of the longest token. Source: `tokenizers` 0.23, models/wordpiece.
class WordPieceModel : public SubwordModel {
 public:
  WordPieceModel(const std::vector<std::pair<std::string, std::int32_t>>& vocabulary,
                 WordPieceOptions options);

  void encode(std::string_view word, BpeScratch& scratch,
              std::vector<std::int32_t>& ids) const override;

 private:
  struct Piece {
    std::size_t length = 0;
    std::int32_t id = 0;
  };
  std::optional<Piece> longest_piece(std::string_view rest, bool continues) const;

  WordPieceOptions options_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::size_t longest_ = 0;  // bytes of the longest token
};

}  // namespace lime
