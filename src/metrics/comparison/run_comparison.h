// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "metrics/summary.h"

namespace lime {

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
RunSummary summarize_runs(const RunValues& runs, const SummaryOptions& options = {});

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
                           const SummaryOptions& options = {});

}  // namespace lime
