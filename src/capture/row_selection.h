// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/input/input.h"
#include "checkpoint/tokenizer.h"
#include "store/capture_info.h"

namespace lime {

/// A text that is a single token of the vocabulary, as given to `--only`.
struct TokenClass {
  std::string text;     ///< as given, the leading space included
  std::int32_t id = 0;  ///< the token whose bytes are exactly this text
};

/// Finds the token of each text: the one whose bytes in the middle of a text are exactly these.
///
/// So ` is` and `is` are different tokens, with SentencePiece too, whose encoding of a lone `is`
/// would give the token of ` is`.
/// @param option  named in the error
/// @throws InvalidArgument  for a text that is not a single token: names the first and its pieces.
std::vector<TokenClass> find_token_classes(const std::vector<std::string>& texts,
                                           const Tokenizer& tokenizer, const char* option = "only");

/// Determines which tokens of which sequences become rows.
///
/// Depends only on the token ids, so the rows are known before the model runs.
class RowSelection {
 public:
  explicit RowSelection(const CaptureInput& input);
  /// Keeps all tokens, or one pooled row per sequence.
  RowSelection(const CaptureInput& input, RowKind rows);
  /// Keeps the tokens of `classes`, at most `max_per_class` of each, in text order.
  RowSelection(const CaptureInput& input, const std::vector<TokenClass>& classes,
               std::int64_t max_per_class);

  RowKind kind() const { return kind_; }
  bool keeps_all() const { return kind_ == RowKind::kTokens && !selects_tokens_; }
  std::int64_t num_rows() const { return num_rows_; }
  /// Returns the number of sequences to run: fewer than the input has once every class is full.
  std::int64_t num_sequences() const { return num_sequences_; }
  /// Returns the number of rows of each class; empty without classes.
  const std::vector<std::int64_t>& rows_per_class() const { return rows_per_class_; }

  RowTable rows_of(std::int64_t first, std::int64_t count) const;

 private:
  const CaptureInput& input_;
  RowKind kind_ = RowKind::kTokens;
  bool selects_tokens_ = false;
  std::int64_t num_rows_ = 0;
  std::int64_t num_sequences_ = 0;
  std::vector<std::int64_t> rows_per_class_;
  RowTable selected_;  // all rows, if only some tokens are kept
};

}  // namespace lime
