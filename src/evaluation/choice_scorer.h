// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "model/decoders/decoder.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {

/// Continuation and the tokens before it.
struct ChoiceTokens {
  std::vector<std::int64_t> input;    ///< input of the model: all tokens but the last
  std::vector<std::int64_t> targets;  ///< the continuation's tokens
  bool is_cut = false;                ///< the start was removed to fit the model

  /// Returns the row of the input that predicts the first target.
  std::size_t first_row() const { return input.size() - targets.size(); }
};

/// Encodes a continuation as lm-evaluation-harness does: white space at the end of the context
/// belongs to the continuation, whose tokens are those of both texts together that follow the
/// context's; an empty context is the beginning-of-text token, or else the end-of-text token.
/// @param max_length  positions of the model; the last max_length + 1 tokens are kept
/// @throws InvalidArgument  if the continuation has no tokens, or is longer than the model.
ChoiceTokens encode_choice(const Tokenizer& tokenizer, const std::string& context,
                           const std::string& continuation, std::int64_t max_length);

/// Log-likelihood of a continuation.
struct ChoiceScore {
  double log_likelihood = 0.0;
  bool is_greedy = true;       ///< greedy decoding yields the continuation
  std::vector<double> layers;  ///< log-likelihood from the output of each selected layer
  std::vector<std::vector<float>> states;  ///< output of each layer at the last token, if requested
};

/// The choices of one item.
using Choices = std::vector<ChoiceTokens>;

/// Computes log-likelihoods of the choices of items.
///
/// Tokens with which several choices or items begin are computed once (PrefixTree). Results are
/// bit-identical for any number of threads. Not thread-safe.
class ChoiceScorer {
 public:
  /// @param layers  whose outputs are also read with the final norm and output projection (logit
  ///                lens; nostalgebraist 2020)
  /// @param with_states  also returns the layers' outputs at the last token of each choice, which
  ///                     the model reads for this
  explicit ChoiceScorer(const Decoder& decoder, std::vector<int> layers = {},
                        bool with_states = false);

  /// Returns how many of the first items are best scored together; at least one.
  std::size_t fitting_one_pass(std::span<const Choices> items) const;

  /// @return one score per choice of each item. @throws NumericalError  if one is not finite.
  std::vector<std::vector<ChoiceScore>> score(std::span<const Choices> items);

 private:
  using Ids = std::vector<std::int64_t>;
  std::vector<ChoiceScore> score_together(std::span<const Ids> sequences,
                                          std::span<const ChoiceTokens* const> choices);

  const Decoder& decoder_;
  std::vector<int> layers_;
  bool with_states_;
  Workspace workspace_;
  PassThreads threads_;
};

}  // namespace lime
