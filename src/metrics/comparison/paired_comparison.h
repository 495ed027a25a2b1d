// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lime {

/// How two paired samples are compared.
struct PairedOptions {
  /// Probability that the interval is meant to cover, in (0, 1).
  double confidence = 0.95;
  /// Bootstrap resamples, and random sign flips where there are too many to try all, in
  /// [100, 10^7].
  std::int64_t resamples = 10000;
  std::uint64_t seed = 0;

  /// @throws InvalidArgument
  void validate() const;
};

/// How far apart two paired samples are, and how sure that is.
struct PairedComparison {
  std::int64_t n = 0;
  double difference = 0.0;  ///< mean of second - first
  double std = 0.0;         ///< of the differences, ddof 0
  double ci_low = 0.0;      ///< NaN where n < 2
  double ci_high = 0.0;     ///< likewise
  double p_value = 1.0;     ///< two-sided, in (0, 1]
  bool exact = false;       ///< whether all 2^n sign flips were tried
};

/// Compares two samples whose values belong together one by one.
///
/// With d_i = second_i - first_i: the interval is the percentile bootstrap of mean(d) over the
/// pairs, as summarize() has it. The p-value is that of the sign-flip test: if the two were
/// exchangeable, each d_i would as well be -d_i, so it is the share of the sign choices s for which
///
///   |sum_i s_i d_i| >= |sum_i d_i|,
///
/// of all 2^n of them where those are at most `resamples`, else of that many random ones, the
/// observed one counted in: (1 + hits) / (1 + resamples). Sums that agree within 1e-12 of
/// sum |d_i| count as equal. Low means that the difference is no accident of these pairs; with n
/// pairs it cannot fall below 2^(1 - n).
///
/// Random flips depend on the seed and on n only, so that all layers of a model see the same.
/// @throws InvalidArgument  if the samples are empty, differ in number or are not finite.
/// Source: Fisher (1935), The Design of Experiments, ch. 3; Phipson & Smyth (2010),
/// doi:10.2202/1544-6115.1585 for the counted-in observation.
PairedComparison compare_paired(std::span<const double> first, std::span<const double> second,
                                const PairedOptions& options = {});

/// Corrects p-values for having tested several times: the chance of a single false alarm among them
/// stays below the level at which the corrected values are read.
///
///   adjusted_(k) = max_{j <= k} min(1, (m - j + 1) p_(j)),  p_(1) <= ... <= p_(m)
///
/// @return  in the order of `p_values`.
/// @throws InvalidArgument  if a value lies outside [0, 1].
/// Source: Holm (1979), Scandinavian Journal of Statistics 6.
std::vector<double> holm_adjusted(std::span<const double> p_values);

}  // namespace lime
