// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/options.h"
#include "model/decoders/decoder.h"

namespace lime {

struct TokenScore {
  double log_probability = 0.0;   ///< nats
  double logit_difference = 0.0;  ///< its logit minus the largest other one

  /// Returns true if no other token is more likely.
  bool is_greedy() const { return logit_difference >= 0.0; }
};

/// Scores tokens given the residual stream of the tokens before them.
///
///   log p = logit[target] - log sum_v exp(logit[v])
///
/// Logits have the model's compute type; everything else is double. They are computed for some rows
/// at a time, so that memory does not grow with the rows times the vocabulary.
///
/// @param hidden   [*, hidden_size], ForwardResult::hidden; see Decoder::logits_of()
/// @param rows     rows of `hidden`, each followed by the token in `targets`
/// @param targets  ids in the vocabulary
/// @return one score per row; not finite if the logits are not.
/// Bit-identical for any number of threads.
std::vector<TokenScore> score_tokens(const Decoder& decoder, const at::Tensor& hidden,
                                     const std::vector<std::int64_t>& rows,
                                     std::span<const std::int64_t> targets);

/// Returns the ids of the `count` largest logits, the largest first; ties: lower id first.
/// @param count  at most the number of logits
std::vector<std::int64_t> most_likely(const std::vector<double>& logits, std::int64_t count);

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

/// Computes the distribution of the next token after at least one token.
/// @param count   number of most likely tokens to return, >= 1; at most the vocabulary size.
/// @param on_progress  in layers of the single pass.
/// @throws InvalidArgument  for an empty prompt; NumericalError if the logits are not finite.
NextTokens next_tokens(const Decoder& decoder, std::span<const std::int64_t> prompt,
                       std::int64_t count, const ProgressFn& on_progress = {},
                       HookSet* hooks = nullptr);

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
                                   std::int64_t count, const ProgressFn& on_progress = {},
                                   HookSet* hooks = nullptr);

/// Returns prompt_loss of NextTokens from the tokens of a prompt; none for a single token.
std::optional<double> loss_of(std::span<const ReadToken> tokens);

struct GenerateOptions {
  /// Maximum number of new tokens, >= 1.
  std::int64_t max_new_tokens = 100;
  /// Sampling temperature: logits are divided by it; 0 selects the most likely token. >= 0.
  double temperature = 0.0;
  /// Samples from the k most likely tokens only; 0 for all.
  std::int64_t top_k = 0;
  /// Samples from the smallest set of tokens whose probability reaches top_p, in (0, 1].
  double top_p = 1.0;
  std::uint64_t seed = 0;
  /// Generation ends after any of these; usually the end-of-sequence token.
  std::vector<std::int64_t> stop_tokens = {};
  const HookSet* hooks = nullptr;  ///< of every pass; nullptr for none

  /// Describes the fields for the command line.
  void describe(OptionList& list);
  void validate() const;
};

/// Called for each new token as soon as it is known.
using TokenFn = std::function<void(std::int64_t token)>;

/// Continues `prompt`, at least one token, token by token with a key-value cache.
/// Temperature, then top_k, then top_p, as Hugging Face orders them. Ties take the lower id.
/// @param stop  ends generation early when requested, which is not an error.
/// @return the new tokens, a stop token included.
/// @throws InvalidArgument  if `options` are invalid, or `prompt` is empty.
std::vector<std::int64_t> generate(const Decoder& decoder, std::span<const std::int64_t> prompt,
                                   const GenerateOptions& options = {},
                                   const TokenFn& on_token = {}, std::stop_token stop = {});

}  // namespace lime
