// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/decoders/decoder.h"

namespace lime {

/// Distribution of the next token after a prompt.
struct NextTokens {
  struct Token {
    std::int64_t id = 0;
    double log_probability = 0.0;  ///< nats
  };
  std::vector<Token> tokens;          ///< the most likely first; ties: lower id first
  double entropy = 0.0;               ///< of the whole distribution, nats
  std::optional<double> prompt_loss;  ///< mean over the prompt's tokens but the first, nats
};

/// Computes the distribution of the next token.
/// @param prompt  token ids, at least one.
/// @param count   number of most likely tokens to return, >= 1; at most the vocabulary size.
/// @param on_progress  in layers of the single pass.
/// @throws InvalidArgument  for an empty prompt; NumericalError if the logits are not finite.
NextTokens next_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                       std::int64_t count, const ProgressFn& on_progress = {});

/// A token of a prompt, and the distribution of the next token after it.
struct ReadToken {
  std::int64_t id = 0;
  /// Log-probability of this token given the preceding ones, nats; none for the first.
  std::optional<double> log_probability;
  NextTokens next;  ///< without prompt_loss
};

/// Computes the same after every token of a prompt; `next` of the last one equals next_tokens().
/// Same parameters and exceptions. One pass; one row of logits is widened at a time.
std::vector<ReadToken> read_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   std::int64_t count, const ProgressFn& on_progress = {});

/// Returns prompt_loss of NextTokens from the tokens of a prompt; none for a single token.
std::optional<double> loss_of(std::span<const ReadToken> tokens);

}  // namespace lime
