// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"

namespace lime {

/// Rule for minimal pairs whose sentences have equal scores.
enum class TieRule {
  kCorrect,    ///< the first of equal choices wins, i.e. the good one: lm-evaluation-harness
  kIncorrect,  ///< the good one must score higher: the BLiMP paper's code
};

constexpr auto names_of(TieRule) {
  using enum TieRule;
  return enum_table<TieRule>({{kCorrect, "right"}, {kIncorrect, "wrong"}});
}

enum class PairOutcome : std::uint8_t { kCorrect, kIncorrect, kTie };

/// Evaluates minimal pairs: does the good sentence score higher than the bad one?
/// @param good, bad  [num_pairs] scores, e.g. summed log-likelihoods in nats; finite.
/// @throws InvalidArgument  if the sizes differ or a score is not finite (names the first).
std::vector<PairOutcome> compare_pairs(std::span<const double> good, std::span<const double> bad);

struct PairAccuracy {
  std::int64_t num_pairs = 0;
  std::int64_t num_correct = 0;  ///< correct pairs; includes ties if they count as correct
  std::int64_t num_ties = 0;
  double accuracy = 0.0;
  /// Standard error of the mean with n - 1, as in lm-evaluation-harness; 0 for one pair.
  double standard_error = 0.0;
  /// Wilson's score interval of the accuracy.
  double ci_low = 0.0;
  double ci_high = 1.0;
};

/// Computes the accuracy over `outcomes`.
/// @param confidence  of the interval, in (0, 1).
/// @throws InvalidArgument  if there are none.
/// Source of the interval: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212, equation (4).
PairAccuracy pair_accuracy(std::span<const PairOutcome> outcomes, TieRule ties,
                           double confidence = 0.95);

/// Computes lm-evaluation-harness's standard error for a group of tasks:
///
///   sqrt(sum_t (n_t - 1) n_t se_t^2 / (sum_t n_t - T)) / sqrt(sum_t n_t)
///
/// i.e. from the pooled variance within tasks. 0 if no task has two pairs.
double pooled_standard_error(std::span<const PairAccuracy> tasks);

}  // namespace lime
