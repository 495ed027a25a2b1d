// SPDX-License-Identifier: Apache-2.0
#include "capture/scores.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "model/kernels/parallel_tiles.h"
#include "store/lens_row.h"

namespace lime {
namespace {

/// Logits computed at once: 16 MiB of float32.
constexpr std::int64_t kLensLogits = std::int64_t{1} << 22;
constexpr std::int64_t kLensRows = 16;

struct LensTokens {
  std::vector<std::int64_t> rows;  ///< of the batch, flattened
  std::vector<std::int64_t> next;  ///< id of the next token; -1: none
};

std::vector<LensTokens> cut_tokens(const CaptureInput& input,
                                   std::span<const std::int64_t> sequences,
                                   std::int64_t padded_length, std::size_t size) {
  std::vector<LensTokens> chunks(1);
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const auto ids = input.ids_of(sequences[s]);
    const auto first =
        static_cast<std::size_t>(input.offsets[static_cast<std::size_t>(sequences[s])]);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      if (!input.in_lens.empty() && input.in_lens[first + t] == 0) continue;
      if (chunks.back().rows.size() == size) chunks.emplace_back();
      chunks.back().rows.push_back(static_cast<std::int64_t>(s) * padded_length +
                                   static_cast<std::int64_t>(t));
      chunks.back().next.push_back(t + 1 < ids.size() ? ids[t + 1] : -1);
    }
  }
  if (chunks.back().rows.empty()) chunks.pop_back();
  return chunks;
}

struct FinalDistributions {
  at::Tensor probabilities;           ///< [rows, vocab]
  std::vector<double> mean_logs;      ///< sum p ln p of each row
  std::vector<std::int64_t> largest;  ///< most probable token of each row
};

template <typename T> using Row = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

template <typename Run> void for_each_row(const at::Tensor& logits, const Run& run) {
  constexpr std::int64_t kOperationsPerLogit = 32;
  for_each_block(logits.size(0), logits.size(1) * kOperationsPerLogit,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) run(i);
                 });
}

/// Logits of a row minus the largest, which is at `place`.
template <typename T>
Eigen::ArrayXd shifted_row(const at::Tensor& logits, std::int64_t i, Eigen::Index& place) {
  const std::int64_t vocab = logits.size(1);
  const Row<T> row(logits.data_ptr<T>() + i * vocab, vocab);
  const auto largest = static_cast<double>(row.maxCoeff(&place));
  return row.template cast<double>() - largest;
}

template <typename T> FinalDistributions final_distributions(const at::Tensor& logits) {
  FinalDistributions final;
  final.probabilities = at::empty_like(logits);
  final.mean_logs.resize(static_cast<std::size_t>(logits.size(0)));
  final.largest.resize(final.mean_logs.size());
  for_each_row(logits, [&](std::int64_t i) {
    Eigen::Index place = 0;
    const Eigen::ArrayXd shifted = shifted_row<T>(logits, i, place);
    const Eigen::ArrayXd weights = shifted.exp();
    const double sum = weights.sum();
    Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(
        final.probabilities.data_ptr<T>() + i * shifted.size(), shifted.size()) =
        (weights / sum).template cast<T>();
    final.mean_logs[static_cast<std::size_t>(i)] = (weights * shifted).sum() / sum - std::log(sum);
    final.largest[static_cast<std::size_t>(i)] = place;
  });
  return final;
}

template <typename T>
void measure_rows(const at::Tensor& logits, const FinalDistributions& final,
                  const LensTokens& tokens, float* out) {
  for_each_row(logits, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    Eigen::Index place = 0;
    const Eigen::ArrayXd shifted = shifted_row<T>(logits, i, place);
    const Eigen::ArrayXd weights = shifted.exp();
    const double sum = weights.sum();
    const Row<T> p(final.probabilities.data_ptr<T>() + i * shifted.size(), shifted.size());
    const double cross = (p.template cast<double>() * shifted).sum() - std::log(sum);
    float* const row = out + tokens.rows[at] * kLensSize;
    row[lens_column::kKl] = static_cast<float>(std::max(final.mean_logs[at] - cross, 0.0));
    row[lens_column::kEntropy] =
        static_cast<float>(std::max(std::log(sum) - (weights * shifted).sum() / sum, 0.0));
    row[lens_column::kAgreement] = place == final.largest[at] ? 1.0F : 0.0F;
    row[lens_column::kTokenHigh] = static_cast<float>(place / kLensIdBase);
    row[lens_column::kTokenLow] = static_cast<float>(place % kLensIdBase);
    if (tokens.next[at] < 0) return;
    const double right = shifted[tokens.next[at]];
    row[lens_column::kLoss] = static_cast<float>(std::log(sum) - right);
    row[lens_column::kRank] = static_cast<float>((shifted > right).count() + 1);
  });
}

/// The same for any device. @return [rows, kLensSize] on the CPU
at::Tensor measure_on_device(const at::Tensor& logits, const at::Tensor& final_logs,
                             const LensTokens& tokens) {
  const at::Tensor logs = at::log_softmax(logits, 1, at::kDouble);
  const at::Tensor next = at::tensor(tokens.next, at::kLong).to(logs.device()).unsqueeze(1);
  const at::Tensor right = logs.gather(1, next.clamp_min(0));
  const at::Tensor has_next = next.ge(0).squeeze(1).to(at::kDouble);
  const at::Tensor largest = logs.argmax(1);
  return at::stack(
             {(final_logs.exp() * (final_logs - logs)).sum(1).clamp_min(0),
              -(logs.exp() * logs).sum(1), largest.eq(final_logs.argmax(1)).to(at::kDouble),
              -right.squeeze(1) * has_next, (logs.gt(right).sum(1) + 1).to(at::kDouble) * has_next,
              largest.floor_divide(kLensIdBase).to(at::kDouble),
              largest.remainder(kLensIdBase).to(at::kDouble)},
             1)
      .to(at::kFloat)
      .cpu();
}

}  // namespace

void LogitLens::keep(std::size_t point, const at::Tensor& activation) {
  const at::Tensor stream = activation.flatten(0, 1).clone();
  kept_.push_back(
      {point, stream, at::zeros({stream.size(0), kLensSize}, at::TensorOptions(at::kFloat))});
}

void LogitLens::finish(const at::Tensor& hidden, std::span<const std::int64_t> sequences,
                       const Receive& receive) {
  if (kept_.empty()) return;
  const at::Tensor flat = hidden.flatten(0, 1);
  const auto size =
      static_cast<std::size_t>(std::max(kLensRows, kLensLogits / decoder_.config().vocab_size));
  const auto logits_of = [&](const at::Tensor& stream, const LensTokens& tokens) {
    const at::Tensor rows = at::tensor(tokens.rows, at::kLong).to(stream.device());
    const at::Tensor selected = stream.index_select(0, rows).to(flat.device(), flat.scalar_type());
    at::Tensor logits = decoder_.logits_of(selected);
    if (logits.scalar_type() != at::kDouble) logits = logits.to(at::kFloat);
    return logits.contiguous();
  };
  for (const LensTokens& tokens : cut_tokens(input_, sequences, hidden.size(1), size)) {
    const at::Tensor final_logits = logits_of(flat, tokens);
    if (final_logits.is_cpu()) {
      AT_DISPATCH_FLOATING_TYPES(final_logits.scalar_type(), "logit_lens", [&] {
        const FinalDistributions final = final_distributions<scalar_t>(final_logits);
        for (Kept& kept : kept_) {
          measure_rows<scalar_t>(logits_of(kept.stream, tokens), final, tokens,
                                 kept.rows.data_ptr<float>());
        }
      });
      continue;
    }
    const at::Tensor final_logs = at::log_softmax(final_logits, 1, at::kDouble);
    const at::Tensor rows = at::tensor(tokens.rows, at::kLong);
    for (Kept& kept : kept_) {
      kept.rows.index_copy_(0, rows,
                            measure_on_device(logits_of(kept.stream, tokens), final_logs, tokens));
    }
  }
  for (const Kept& kept : kept_) {
    receive(kept.point, kept.rows.view({hidden.size(0), hidden.size(1), kLensSize}));
  }
  kept_.clear();
}

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
    for (const std::size_t t : input.scored_of(sequences[s])) {
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
