// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/minimal_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/errors.h"
#include "metrics/quantiles.h"

namespace lime {

std::vector<PairOutcome> compare_pairs(std::span<const double> good, std::span<const double> bad) {
  throw_if(good.size() != bad.size(),
           "pairs: the numbers of good and bad sentences must be equal, got {} and {}", good.size(),
           bad.size());
  std::vector<PairOutcome> outcomes;
  outcomes.reserve(good.size());
  for (std::size_t i = 0; i < good.size(); ++i) {
    throw_if(!std::isfinite(good[i]) || !std::isfinite(bad[i]),
             "pairs: scores must be finite, got {1} and {2} for pair {0}", i, good[i], bad[i]);
    outcomes.push_back(good[i] > bad[i]    ? PairOutcome::kCorrect
                       : good[i] == bad[i] ? PairOutcome::kTie
                                           : PairOutcome::kIncorrect);
  }
  return outcomes;
}

PairAccuracy pair_accuracy(std::span<const PairOutcome> outcomes, TieRule ties, double confidence) {
  if (outcomes.empty()) throw InvalidArgument("pairs: expected at least one, got none");
  PairAccuracy result;
  result.num_pairs = static_cast<std::int64_t>(outcomes.size());
  result.num_correct = std::ranges::count(outcomes, PairOutcome::kCorrect);
  result.num_ties = std::ranges::count(outcomes, PairOutcome::kTie);
  if (ties == TieRule::kCorrect) result.num_correct += result.num_ties;
  const auto n = static_cast<double>(result.num_pairs);
  const double p = static_cast<double>(result.num_correct) / n;
  result.accuracy = p;
  if (result.num_pairs > 1) result.standard_error = std::sqrt(p * (1.0 - p) / (n - 1.0));
  const double z = normal_quantile(0.5 + confidence / 2.0);
  const double centre = p + z * z / (2.0 * n);
  const double reach = z * std::sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
  const double scale = 1.0 + z * z / n;
  result.ci_low = std::max(0.0, (centre - reach) / scale);
  result.ci_high = std::min(1.0, (centre + reach) / scale);
  return result;
}

double pooled_standard_error(std::span<const PairAccuracy> tasks) {
  double pairs = 0.0;
  double squares = 0.0;
  for (const PairAccuracy& task : tasks) {
    const auto n = static_cast<double>(task.num_pairs);
    pairs += n;
    squares += (n - 1.0) * n * task.standard_error * task.standard_error;
  }
  const double freedom = pairs - static_cast<double>(tasks.size());
  return freedom > 0.0 ? std::sqrt(squares / freedom / pairs) : 0.0;
}

}  // namespace lime
