// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/resampled_sums.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "metrics/quantiles.h"

namespace lime {

Side side_of(const Estimate& estimate, double threshold) {
  if (!estimate.has_interval()) return estimate.value > threshold ? Side::kAbove : Side::kBelow;
  if (estimate.low > threshold) return Side::kAbove;
  return estimate.high <= threshold ? Side::kBelow : Side::kUndecided;
}

std::vector<Estimate> resampled(const MatrixD& sums,
                                std::span<const std::function<double(const VectorD&)>> functions,
                                const SummaryOptions& options) {
  std::vector<Estimate> estimates(functions.size());
  const VectorD total = sums.colwise().sum().transpose();
  for (std::size_t i = 0; i < functions.size(); ++i) estimates[i].value = functions[i](total);
  const auto count = static_cast<std::uint64_t>(sums.rows());
  if (sums.rows() < kFewestResampledSequences || options.resamples == 0) return estimates;
  std::vector<std::vector<double>> values(functions.size());
  const Random random(options.seed);
  VectorD sum(sums.cols());
  for (std::int64_t r = 0; r < options.resamples; ++r) {
    Random stream = random.fork(static_cast<std::uint64_t>(r));
    sum.setZero();
    for (std::uint64_t i = 0; i < count; ++i) {
      sum += sums.row(static_cast<Eigen::Index>(stream.below(count))).transpose();
    }
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const double value = functions[i](sum);
      if (std::isfinite(value)) values[i].push_back(value);
    }
  }
  const double tail = (1.0 - options.confidence) / 2.0;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (values[i].empty() || !std::isfinite(estimates[i].value)) continue;
    std::ranges::sort(values[i]);
    estimates[i].low = quantile(values[i], tail);
    estimates[i].high = quantile(values[i], 1.0 - tail);
  }
  return estimates;
}

}  // namespace lime
