// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.h"

namespace lime {

/// What counts when both sentences of a minimal pair get the same score.
enum class TieRule {
  kRight,  ///< the first of equal choices wins, and that is the good one: lm-evaluation-harness
  kWrong,  ///< the good one must score higher: the BLiMP paper's code
};

template <>
struct EnumNames<TieRule> {
  static constexpr std::array<std::pair<TieRule, std::string_view>, 2> kNames = {
      {{TieRule::kRight, "right"}, {TieRule::kWrong, "wrong"}}};
};

enum class PairVerdict : std::uint8_t { kRight, kWrong, kTie };

/// Judges minimal pairs: does the good sentence score higher than the bad one?
/// @param good, bad  [num_pairs] scores, e.g. summed log-likelihoods in nats; finite.
/// @throws InvalidArgument  if the sizes differ or a score is not finite (names the first).
std::vector<PairVerdict> judge_pairs(std::span<const double> good, std::span<const double> bad);

/// Share of pairs judged right, and how sure it is.
struct PairAccuracy {
  std::int64_t num_pairs = 0;
  std::int64_t num_right = 0;  ///< ties included where they count as right
  std::int64_t num_ties = 0;
  double accuracy = 0.0;
  /// Standard error of the mean with n - 1, as lm-evaluation-harness prints it; 0 for one pair.
  double standard_error = 0.0;
  /// Wilson's score interval of the accuracy.
  double ci_low = 0.0;
  double ci_high = 1.0;
};

/// Accuracy over `verdicts`.
/// @param confidence  of the interval, in (0, 1).
/// @throws InvalidArgument  if there are none.
/// Source of the interval: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212, equation (4).
PairAccuracy pair_accuracy(std::span<const PairVerdict> verdicts, TieRule ties,
                           double confidence = 0.95);

/// Standard error of lm-evaluation-harness for a group of tasks:
///
///   sqrt(sum_t (n_t - 1) n_t se_t^2 / (sum_t n_t - T)) / sqrt(sum_t n_t)
///
/// that is, from the variance within tasks, pooled. 0 where no task has two pairs.
double pooled_standard_error(std::span<const PairAccuracy> tasks);

/// Quantile of the standard normal distribution: Phi(normal_quantile(p)) = p, 0 < p < 1, to 1e-12.
double normal_quantile(double probability);

}  // namespace lime
