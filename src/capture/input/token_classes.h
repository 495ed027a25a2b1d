// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/tokenizer.h"

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
/// @throws InvalidArgument  for a text that is not a single token: names the first and its pieces.
std::vector<TokenClass> find_token_classes(const std::vector<std::string>& texts,
                                           const Tokenizer& tokenizer);

}  // namespace lime
