// SPDX-License-Identifier: Apache-2.0
#include "capture/log_likelihood.h"

#include <ATen/Functions.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Logits computed at once: about 16 MiB of float32.
constexpr std::int64_t kLogitsAtOnce = std::int64_t{1} << 22;
constexpr std::int64_t kLeastRows = 16;

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

/// Returns log softmax(logits)[target], with the exponentials and their sum in double.
template <typename T>
double log_probability(const T* logits, std::int64_t vocab_size, std::int64_t target) {
  const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> row(logits, vocab_size);
  const auto largest = static_cast<double>(row.maxCoeff());
  const double sum = (row.template cast<double>() - largest).exp().sum();
  return static_cast<double>(logits[target]) - largest - std::log(sum);
}

template <typename T>
void log_probabilities(const at::Tensor& logits, std::span<const std::int64_t> targets,
                       std::span<double> out) {
  const std::int64_t vocab_size = logits.size(1);
  const T* const data = logits.data_ptr<T>();
  constexpr std::int64_t kOperationsPerLogit = 16;
  for_each_block(
      logits.size(0), vocab_size * kOperationsPerLogit, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const auto index = static_cast<std::size_t>(i);
          out[index] = log_probability(data + i * vocab_size, vocab_size, targets[index]);
        }
      });
}

/// Computes the log-probabilities of the tokens that follow some rows of `hidden` [rows,
/// hidden_size].
void score_rows(const Decoder& decoder, const at::Tensor& hidden,
                std::span<const std::int64_t> targets, std::span<double> out) {
  at::Tensor logits = decoder.logits_of(hidden);
  if (logits.is_cpu()) {
    if (logits.scalar_type() != at::kDouble) logits = logits.to(at::kFloat);
    logits = logits.contiguous();
    if (logits.scalar_type() == at::kDouble) return log_probabilities<double>(logits, targets, out);
    return log_probabilities<float>(logits, targets, out);
  }
  const at::Tensor wide = logits.to(at::kDouble);
  const at::Tensor places =
      at::tensor(at::ArrayRef<std::int64_t>(targets.data(), targets.size()), at::kLong)
          .to(wide.device())
          .unsqueeze(1);
  const at::Tensor result =
      (wide.gather(1, places).squeeze(1) - at::logsumexp(wide, {1})).to(at::kCPU).contiguous();
  std::copy_n(result.data_ptr<double>(), out.size(), out.begin());
}

}  // namespace

std::vector<SequenceScore> score_sequences(const Decoder& decoder, const at::Tensor& hidden,
                                           const CaptureInput& input,
                                           std::span<const std::int64_t> sequences) {
  const ScoredTokens scored = list_scored(input, sequences, hidden.size(1));
  const std::size_t count = scored.rows.size();
  const at::Tensor flat = hidden.flatten(0, 1);
  const at::Tensor rows = at::tensor(scored.rows, at::kLong).to(flat.device());
  const auto step =
      static_cast<std::size_t>(std::max(kLeastRows, kLogitsAtOnce / decoder.config().vocab_size));
  std::vector<double> log_probabilities(count);
  for (std::size_t first = 0; first < count; first += step) {
    const std::size_t size = std::min(step, count - first);
    const at::Tensor selected = flat.index_select(
        0, rows.narrow(0, static_cast<std::int64_t>(first), static_cast<std::int64_t>(size)));
    score_rows(decoder, selected, std::span(scored.targets).subspan(first, size),
               std::span(log_probabilities).subspan(first, size));
  }
  std::vector<SequenceScore> scores(sequences.size());
  for (std::size_t i = 0; i < count; ++i) {
    SequenceScore& score = scores[scored.owners[i]];
    score.log_likelihood += log_probabilities[i];
    ++score.scored_tokens;
  }
  return scores;
}

}  // namespace lime
