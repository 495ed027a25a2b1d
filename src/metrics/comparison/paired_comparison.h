// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/summary.h"

namespace lime {

/// Interval, and random sign flips if not all can be tried; at least 100 resamples.
using PairedOptions = SummaryOptions;

struct PairedComparison {
  std::int64_t n = 0;
  double difference = 0.0;  ///< mean of second - first
  double std = 0.0;         ///< of the differences, ddof 0
  double ci_low = 0.0;      ///< NaN if n < 2
  double ci_high = 0.0;     ///< likewise
  double p_value = 1.0;     ///< two-sided, in (0, 1]
  bool exact = false;       ///< true if all 2^n sign flips were tried
};

/// Compares two paired samples.
///
/// With d_i = second_i - first_i: the interval is the percentile bootstrap of mean(d) over the
/// pairs, as in summarize(). The p-value is that of the sign-flip test: if the two were
/// exchangeable, each d_i could be -d_i, so it is the fraction of the sign vectors s with
///
///   |sum_i s_i d_i| >= |sum_i d_i|,
///
/// over all 2^n of them if those are at most `resamples`, else over that many random ones,
/// including the observed one: (1 + hits) / (1 + resamples). Sums within 1e-12 of sum |d_i| count
/// as equal. Low: the difference is unlikely to be due to chance; at least 2^(1 - n).
///
/// Random flips depend only on the seed and n, so they are the same for all layers of a model.
/// @throws InvalidArgument  if the samples are empty, differ in number or are not finite.
/// Source: Fisher (1935), The Design of Experiments, ch. 3; Phipson & Smyth (2010),
/// doi:10.2202/1544-6115.1585 for including the observation.
PairedComparison compare_paired(std::span<const double> first, std::span<const double> second,
                                const PairedOptions& options = {});

/// Returns the two-sided p-value of McNemar's exact test: the probability that of `first + second`
/// fair coins at least as many more fall on one side than on the other.
///
///   p = min(1, 2 sum_{k <= min(first, second)} binomial(first + second, k) / 2^(first + second))
///
/// @param first, second  items that only the first, or only the second model answers correctly
/// Source: McNemar (1947), Psychometrika 12; the exact form is the binomial (sign) test.
double mcnemar_exact(std::int64_t first, std::int64_t second);

/// Corrects p-values for multiple testing (Holm-Bonferroni); controls the family-wise error rate.
///
///   adjusted_(k) = max_{j <= k} min(1, (m - j + 1) p_(j)),  p_(1) <= ... <= p_(m)
///
/// @return  in the order of `p_values`.
/// @throws InvalidArgument  if a value is outside [0, 1].
/// Source: Holm (1979), Scandinavian Journal of Statistics 6.
std::vector<double> holm_adjusted(std::span<const double> p_values);

/// Values of the same items (e.g. sequences) in every training run of a model, [runs][items].
using RunValues = std::vector<std::vector<double>>;

struct RunSummary {
  double mean = 0.0;    ///< of the runs' means over items
  double std = 0.0;     ///< of the runs' means, ddof 0
  double ci_low = 0.0;  ///< Student's t over the runs' means; NaN with one run
  double ci_high = 0.0;
  /// Percentile bootstrap over runs and, the same for all runs, items. NaN with one run.
  double both_ci_low = 0.0;
  double both_ci_high = 0.0;
};

/// @throws InvalidArgument  if there is no run, runs differ in their number of items, or a value is
///                          not finite. Deterministic for given values and seed.
RunSummary summarize_runs(const RunValues& runs, const PairedOptions& options = {});

struct RunComparison {
  double difference = 0.0;  ///< mean of second - mean of first
  double ci_low = 0.0;      ///< over runs and items, as RunSummary::both_ci_low
  double ci_high = 0.0;
  /// Two-sided p-value of the permutation test: the fraction of the assignments of runs to models
  /// whose difference of means is at least as large; random ones, with the observed one, if there
  /// are more than `resamples`. With three runs each it is at least 0.1.
  double p_value = 1.0;
  bool exact = false;  ///< all assignments were tried
};

/// Compares models whose runs have values of the same items. @throws as summarize_runs()
/// Source: Fisher (1935); Efron & Tibshirani (1993), ch. 15 and 16.
RunComparison compare_runs(const RunValues& first, const RunValues& second,
                           const PairedOptions& options = {});

/// Returns the p-value of the Kruskal-Wallis test that all groups come from one distribution, with
/// the correction for ties and the chi-squared approximation; 1 if all values are equal.
/// @throws InvalidArgument  if there are fewer than two groups, or one is empty.
/// Source: Kruskal & Wallis (1952), J. Am. Stat. Assoc. 47.
double kruskal_wallis_p(std::span<const std::vector<double>> groups);

/// Rule for minimal pairs whose sentences have equal scores.
enum class TieRule {
  kCorrect,    ///< the first of equal choices wins, i.e. the good one: lm-evaluation-harness
  kIncorrect,  ///< the good one must score higher: the BLiMP paper's code
};

constexpr auto names_of(TieRule) { return names_in_order<TieRule>("right", "wrong"); }

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
