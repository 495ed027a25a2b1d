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

struct UnigramOptions {
  std::optional<std::int32_t> unknown_id = std::nullopt;
  /// Unknown text becomes tokens such as `<0xE2>`, one per byte, if the vocabulary has all of them.
  bool byte_fallback = false;
};

/// Cuts a word into the tokens whose log probabilities have the largest sum (the Viterbi path). A
/// character without a token costs 10 more than the least probable one; several in a row become one
/// unknown token. Time: the length of the word times that of the longest token.
/// Source: Kudo (2018), arXiv:1804.10959; `tokenizers` 0.23, models/unigram, whose order of
/// additions, in double precision, is kept.
class UnigramModel : public SubwordModel {
 public:
  using Piece = std::pair<std::string, double>;  ///< token and log probability; ids in order

  /// @param where  the file, for errors. @throws FormatError  if an unknown_id is not in `pieces`.
  UnigramModel(const std::vector<Piece>& pieces, const UnigramOptions& options,
               const std::string& where);

  void encode(std::string_view word, BpeScratch& scratch,
              std::vector<std::int32_t>& ids) const override;

 private:
  /// The best way to cut the text up to a byte.
  struct Step {
    double score = 0.0;
    std::size_t begin = kUnreached;
    std::int32_t id = 0;
  };
  static constexpr std::size_t kUnreached = static_cast<std::size_t>(-1);

  void add_to_trie(std::string_view token, std::int32_t id);
  std::vector<Step> best_steps(std::string_view word) const;
  std::int32_t unknown_id(std::string_view word) const;
  void append(std::string_view token, std::vector<std::int32_t>& ids) const;

  UnigramOptions options_;
  std::vector<double> scores_;
  double unknown_score_ = 0.0;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // node * 256 + byte: node
  std::vector<std::int32_t> node_ids_ = {-1};                  // the token that ends there
};

}  // namespace lime
