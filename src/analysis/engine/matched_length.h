// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/options.h"

namespace lime {

class CaptureReader;

/// Number of tokens to which all sequences are cut, `--match-length`: a number, or the length of
/// the shortest sequence.
class MatchedLength {
 public:
  MatchedLength() = default;
  explicit MatchedLength(std::int64_t tokens) : tokens_(tokens) {}
  static MatchedLength automatic() { return MatchedLength(0); }

  bool is_automatic() const { return tokens_ == 0; }
  std::int64_t tokens() const { return tokens_; }

 private:
  std::int64_t tokens_ = 0;
};

template <> struct OptionCodec<MatchedLength> {
  static std::string type() { return "INT|auto"; }
  /// @throws InvalidArgument  unless it is auto, or a whole number >= 2.
  static MatchedLength parse(const std::string& text, const std::string& name) {
    if (text == "auto") return MatchedLength::automatic();
    std::int64_t tokens = 0;
    try {
      tokens = OptionCodec<std::int64_t>::parse(text, name);
    } catch (const InvalidArgument&) {
      throw InvalidArgument(OptionName(name), "expected a whole number or auto, got '{}'", text);
    }
    check_option(tokens >= 2, name, ">= 2, or auto", tokens);
    return MatchedLength(tokens);
  }
  static Json to_json(const MatchedLength& value) {
    return value.is_automatic() ? Json("auto") : Json(value.tokens());
  }
};

/// Hides every token after the first `length` of its sequence. Activations of a causal model do not
/// depend on later tokens: the rest is a capture of shorter sequences.
/// @param num_sequences  used of the capture
/// @throws InvalidArgument  if rows are not whole sequences, or one of these is shorter.
void match_length(CaptureReader& capture, std::int64_t num_sequences, std::int64_t length);

/// Returns the number of tokens of the shortest of the first `num_sequences` sequences.
std::int64_t shortest_sequence(const CaptureReader& capture, std::int64_t num_sequences);

}  // namespace lime
