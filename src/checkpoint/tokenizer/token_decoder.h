// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"

namespace lime {

/// Converts a token's spelling into the bytes that it adds: the `decoder` of tokenizer.json.
///
/// Supports ByteLevel, Metaspace, Replace (of strings), ByteFallback, Fuse, Strip of one character
/// at the start, WordPiece, BPEDecoder, and Sequence of these. BPEDecoder writes a space behind
/// each word, also behind the last one, which Hugging Face's omits. Immutable and thread-safe.
class TokenDecoder {
 public:
  /// Writes tokens unchanged, separated by spaces, like Hugging Face without a decoder.
  TokenDecoder() = default;
  /// @throws FormatError  if a component is invalid or not supported; names it.
  TokenDecoder(const Json& definition, const std::string& where);

  std::string piece(std::string_view token, bool at_text_start) const;

 private:
  void add(const Json& definition, const std::string& where);
  void add_strip(const Json& definition, const std::string& where);

  bool joins_with_space_ = true;
  bool byte_level_ = false;
  bool byte_fallback_ = false;
  bool fused_ = false;
  bool word_piece_ = false;
  bool cleans_up_ = false;    // WordPiece: no spaces before punctuation
  std::string continuation_;  // WordPiece: in front of tokens that continue a word
  std::vector<std::pair<std::string, std::string>> replacements_;
  std::string replacement_name_;  // the place of the Replace in the file
  std::string dropped_at_start_;  // Metaspace: all of these in the first token
  std::string stripped_;          // Strip: one of these at the start of the text
};

}  // namespace lime
