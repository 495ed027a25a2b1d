// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

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

}  // namespace lime
