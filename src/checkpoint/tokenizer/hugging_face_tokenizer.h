// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "checkpoint/tokenizer/models/bpe_model.h"
#include "checkpoint/tokenizer/models/unigram_model.h"
#include "checkpoint/tokenizer/models/word_piece_model.h"
#include "checkpoint/tokenizer/normalizer.h"
#include "checkpoint/tokenizer/pre_tokenizer.h"
#include "checkpoint/tokenizer/special_tokens.h"
#include "checkpoint/tokenizer/token_decoder.h"

namespace lime {

/// Components of a tokenizer, as read from its files.
struct TokenizerParts {
  std::string where;  ///< the file, for errors
  std::vector<std::pair<std::string, std::int32_t>> vocabulary;
  std::vector<BpeModel::MergePair> merges;
  /// One of the three, the first that is set.
  std::optional<UnigramOptions> unigram = std::nullopt;
  std::optional<WordPieceOptions> word_piece = std::nullopt;
  BpeOptions model;
  std::vector<double> scores;  ///< of `vocabulary`, for `unigram`
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  TokenDecoder decoder;
  /// Tokens matched as a whole; those that `vocabulary` lacks extend it.
  std::vector<AddedToken> added_tokens;
  /// Treats special tokens spelled out in a text as ordinary text.
  bool split_special_tokens = false;
  std::optional<std::int32_t> bos_id = std::nullopt;
  std::optional<std::int32_t> eos_id = std::nullopt;
  std::vector<std::int32_t> prefix_ids;
  std::vector<std::int32_t> suffix_ids;
  std::string sha256;
};

/// Returns a tokenizer of these parts as Hugging Face's `tokenizers` runs it:
///
///   text -> added tokens -> normalizer -> pieces -> cache or model -> ids -> BOS, EOS
///
/// Thread-safe: every call borrows scratch memory and a word cache from a pool.
/// @throws FormatError  if the parts contradict each other.
std::unique_ptr<Tokenizer> make_hugging_face_tokenizer(TokenizerParts parts);

}  // namespace lime
