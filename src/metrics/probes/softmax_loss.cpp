// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/softmax_loss.h"

#include <cmath>

namespace lime::probes {
namespace {

/// Rows per block: few enough for the L1 cache, enough to fill registers.
constexpr int kRows = 64;
using Block = Eigen::Array<double, kRows, 1>;

Block load(const double* from, std::int64_t count) {
  Block block = Block::Zero();
  std::copy_n(from, count, block.data());
  return block;
}

template <typename Scalar> void store(const Block& block, std::int64_t count, Scalar* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Scalar>(block[i]);
}

/// Computes log(1 + e) for e in [0, 1] without cancellation near 0.
Block log1p_unit(const Block& e) {
  const Block sum = e + 1.0;
  const Block lost = e - (sum - 1.0);
  return sum.log() + lost / sum;
}

template <typename Scalar>
LineLoss evaluate_sigmoid(const ScoreColumns& columns, double t, std::int64_t first,
                          std::int64_t count, Scalar* const* residuals) {
  Block score = load(columns.scores[0] + first, count);
  Block direction = Block::Zero();
  if (columns.direction != nullptr) {
    direction = load(columns.direction[0] + first, count);
    score += t * direction;
  }
  const Block weight = load(columns.weight + first, count);
  Block is_one = Block::Zero();
  for (std::int64_t i = 0; i < count; ++i) is_one[i] = columns.classes[first + i] == 1 ? 1.0 : 0.0;
  const Block e = (-score.abs()).exp();
  const Block small = e / (e + 1.0);  // the smaller of p and 1 - p
  const Block p = (score > 0.0).select(1.0 - small, small);
  const Block loss = score.max(0.0) - is_one * score + log1p_unit(e);
  const Block residual = (p - is_one) * weight;
  store(residual, count, residuals[0] + first);
  return {(loss * weight).sum(), (residual * direction).sum(),
          (weight * small * (1.0 - small) * direction.square()).sum()};
}

template <typename Scalar>
LineLoss evaluate_softmax(const ScoreColumns& columns, double t, std::int64_t first,
                          std::int64_t count, Scalar* const* residuals) {
  const auto num_scores = static_cast<std::size_t>(columns.num_scores);
  std::vector<Block> p(num_scores);
  std::vector<Block> direction(num_scores, Block::Zero());
  Block largest = Block::Constant(-std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < num_scores; ++k) {
    p[k] = load(columns.scores[k] + first, count);
    if (columns.direction != nullptr) {
      direction[k] = load(columns.direction[k] + first, count);
      p[k] += t * direction[k];
    }
    largest = largest.max(p[k]);
  }
  const Block weight = load(columns.weight + first, count);
  Block chosen = Block::Zero();
  for (std::int64_t i = 0; i < count; ++i) {
    // Test rows may have a class that the fit does not contain.
    if (weight[i] != 0.0) chosen[i] = p[static_cast<std::size_t>(columns.classes[first + i])][i];
  }
  Block sum = Block::Zero();
  for (std::size_t k = 0; k < num_scores; ++k) {
    p[k] = (p[k] - largest).exp();
    sum += p[k];
  }
  const Block scale = weight / sum;
  LineLoss result;
  result.loss = ((sum.log() + largest - chosen) * weight).sum();
  Block mean = Block::Zero();
  Block square = Block::Zero();
  for (std::size_t k = 0; k < num_scores; ++k) {
    p[k] *= scale;
    mean += p[k] * direction[k];
    square += p[k] * direction[k].square();
  }
  Block of_class = Block::Zero();
  for (std::size_t k = 0; k < num_scores; ++k) store(p[k], count, residuals[k] + first);
  for (std::int64_t i = 0; i < count; ++i) {
    if (weight[i] == 0.0) continue;
    const auto k = static_cast<std::size_t>(columns.classes[first + i]);
    of_class[i] = direction[k][i];
    residuals[k][first + i] = static_cast<Scalar>(p[k][i] - 1.0);
  }
  result.slope = (mean - of_class).sum();
  // Weights are 0 or 1, so the square of the weighted mean is the weighted squared mean.
  result.curvature = (square - mean.square()).sum();
  return result;
}

}  // namespace

template <typename Scalar>
LineLoss evaluate_loss(const ScoreColumns& columns, double t, std::int64_t first,
                       std::int64_t count, Scalar* const* residuals) {
  LineLoss total;
  for (std::int64_t done = 0; done < count; done += kRows) {
    const std::int64_t rows = std::min<std::int64_t>(kRows, count - done);
    total += columns.num_scores == 1 ? evaluate_sigmoid(columns, t, first + done, rows, residuals)
                                     : evaluate_softmax(columns, t, first + done, rows, residuals);
  }
  return total;
}

template LineLoss evaluate_loss(const ScoreColumns&, double, std::int64_t, std::int64_t,
                                float* const*);
template LineLoss evaluate_loss(const ScoreColumns&, double, std::int64_t, std::int64_t,
                                double* const*);

void log_probabilities(std::span<const double> scores, std::span<double> out) {
  if (scores.size() == 1) {
    const double tail = std::log1p(std::exp(-std::abs(scores[0])));
    out[1] = std::min(scores[0], 0.0) - tail;
    out[0] = std::min(-scores[0], 0.0) - tail;
    return;
  }
  const double largest = *std::ranges::max_element(scores);
  double sum = 0.0;
  for (const double score : scores) sum += std::exp(score - largest);
  const double normaliser = largest + std::log(sum);
  for (std::size_t k = 0; k < scores.size(); ++k) out[k] = scores[k] - normaliser;
}

}  // namespace lime::probes
