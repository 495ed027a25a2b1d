// SPDX-License-Identifier: Apache-2.0
#include "capture/log_likelihood.h"

namespace lime {
namespace {

/// The scored tokens of a batch, sequence after sequence.
struct ScoredTokens {
  std::vector<std::int64_t> rows;     ///< of hidden, flattened: the preceding token
  std::vector<std::int64_t> targets;  ///< id of the token itself
  std::vector<std::size_t> owners;    ///< index of its sequence in the batch
};

ScoredTokens list_scored(const CaptureInput& input, std::span<const std::int64_t> sequences,
                         std::int64_t padded_length) {
  ScoredTokens scored;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const auto ids = input.ids_of(sequences[s]);
    const auto is_prepended = input.is_prepended_of(sequences[s]);
    for (std::size_t t = 1; t < ids.size(); ++t) {
      if (is_prepended[t] != 0) continue;
      const auto before = static_cast<std::int64_t>(t) - 1;
      scored.rows.push_back(static_cast<std::int64_t>(s) * padded_length + before);
      scored.targets.push_back(ids[t]);
      scored.owners.push_back(s);
    }
  }
  return scored;
}

}  // namespace

std::vector<std::vector<TokenScore>> score_each_token(const Decoder& decoder,
                                                      const at::Tensor& hidden,
                                                      const CaptureInput& input,
                                                      std::span<const std::int64_t> sequences) {
  const ScoredTokens scored = list_scored(input, sequences, hidden.size(1));
  const std::vector<TokenScore> tokens =
      score_tokens(decoder, hidden.flatten(0, 1), scored.rows, scored.targets);
  std::vector<std::vector<TokenScore>> scores(sequences.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) scores[scored.owners[i]].push_back(tokens[i]);
  return scores;
}

std::vector<SequenceScore> score_sequences(const Decoder& decoder, const at::Tensor& hidden,
                                           const CaptureInput& input,
                                           std::span<const std::int64_t> sequences) {
  std::vector<SequenceScore> scores;
  for (const auto& tokens : score_each_token(decoder, hidden, input, sequences)) {
    SequenceScore& score = scores.emplace_back();
    for (const TokenScore& token : tokens) score.log_likelihood += token.log_probability;
    score.scored_tokens = static_cast<std::int32_t>(tokens.size());
  }
  return scores;
}

}  // namespace lime
