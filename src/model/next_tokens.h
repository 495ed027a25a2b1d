// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/decoder.h"

namespace lime {

/// What a decoder expects behind a prompt.
struct NextTokens {
  struct Token {
    std::int64_t id = 0;
    double log_probability = 0.0;  ///< nats
  };
  std::vector<Token> tokens;          ///< the likeliest first; ties take the lower id
  double entropy = 0.0;               ///< of the whole distribution, nats
  std::optional<double> prompt_loss;  ///< mean over the prompt's tokens but the first, nats
};

/// @param prompt  token ids, at least one.
/// @param count   how many of the likeliest tokens, >= 1; at most the vocabulary.
/// @param on_progress  in layers of the one pass.
/// @throws InvalidArgument  for an empty prompt; NumericalError where the logits are not finite.
NextTokens next_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                       std::int64_t count, const ProgressFn& on_progress = {});

/// A token of a prompt, and what the decoder expects behind it.
struct ReadToken {
  std::int64_t id = 0;
  /// Of the token behind those before it, nats; nothing for the first.
  std::optional<double> log_probability;
  NextTokens next;  ///< without prompt_loss
};

/// The same behind every token of a prompt: the last one's `next` is that of next_tokens().
/// Parameters and exceptions as there. One pass; one row of logits is widened at a time.
std::vector<ReadToken> read_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const ProgressFn& on_progress = {});

/// prompt_loss of NextTokens, of a prompt that was read. @return nothing for a single token.
std::optional<double> loss_of(std::span<const ReadToken> tokens);

}  // namespace lime
