// SPDX-License-Identifier: Apache-2.0
#include "metrics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/errors.h"
#include "core/random.h"

namespace lime {
namespace {

constexpr std::int64_t kFewestResamples = 100;

double mean_of(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The q-quantile of sorted values, interpolated linearly between the two nearest.
double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

std::vector<double> resampled_means(std::span<const double> values, const SummaryOptions& options) {
  const Random root(options.seed);
  std::vector<double> means(static_cast<std::size_t>(options.resamples));
  for (std::size_t r = 0; r < means.size(); ++r) {
    Random random = root.fork(r);
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.below(values.size())];
    means[r] = sum / static_cast<double>(values.size());
  }
  return means;
}

}  // namespace

void SummaryOptions::describe(OptionList& list) {
  list.add("confidence", confidence, "probability that the interval of the mean covers, in (0, 1)");
  list.add("resamples", resamples, "bootstrap resamples for the interval, >= 100; 0: no interval");
}

void SummaryOptions::validate() const {
  if (!(confidence > 0.0 && confidence < 1.0)) {
    throw InvalidArgument("confidence: must be in (0, 1), got {}", confidence);
  }
  if (resamples != 0 && resamples < kFewestResamples) {
    throw InvalidArgument("resamples: must be >= {}, or 0 for no interval, got {}",
                          kFewestResamples, resamples);
  }
}

Summary summarize(std::span<const double> values, const SummaryOptions& options) {
  options.validate();
  if (values.empty()) throw InvalidArgument("summary: needs at least one value, got none");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw InvalidArgument("summary: values must be finite, got {} at index {}", values[i], i);
    }
  }
  Summary summary;
  summary.n = static_cast<std::int64_t>(values.size());
  summary.mean = mean_of(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.std = std::sqrt(squares / static_cast<double>(summary.n));
  summary.ci_low = std::numeric_limits<double>::quiet_NaN();
  summary.ci_high = summary.ci_low;
  if (summary.n >= 2 && options.resamples > 0) {
    std::vector<double> means = resampled_means(values, options);
    std::sort(means.begin(), means.end());
    summary.ci_low = quantile(means, 0.5 * (1.0 - options.confidence));
    summary.ci_high = quantile(means, 0.5 * (1.0 + options.confidence));
  }
  return summary;
}

}  // namespace lime
