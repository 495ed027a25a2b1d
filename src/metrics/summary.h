// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/options.h"

namespace lime {

struct SummaryOptions {
  /// Coverage probability of the interval, in (0, 1).
  double confidence = 0.95;
  /// Minimum and maximum number of bootstrap resamples; 10^7 need 80 MB.
  static constexpr std::int64_t kFewestResamples = 100;
  static constexpr std::int64_t kMaxResamples = 10'000'000;
  /// Bootstrap resamples, in [kFewestResamples, kMaxResamples]; 0 disables the interval.
  std::int64_t resamples = 10000;
  /// Seed of the resampling. Not described: programs have a global `--seed`.
  std::uint64_t seed = 0;

  /// Adds the group "Interval". @param name  of the interval
  void describe(OptionList& list, const std::string& name = "interval of the mean");
  /// @param resamples_name  name of the option for the error message.
  void validate(const std::string& resamples_name = "resamples") const;
};

/// Mean of a sample with its spread and a bootstrap interval of the mean.
struct Summary {
  std::int64_t n = 0;
  double mean = 0.0;
  double std = 0.0;      ///< population form (ddof 0), as in the LIMe code
  double ci_low = 0.0;   ///< NaN if n < 2 or without resamples
  double ci_high = 0.0;  ///< likewise
};

double mean_of(std::span<const double> values);
/// Returns the q-quantile of sorted values, interpolated linearly between the two nearest.
double quantile(std::span<const double> sorted, double q);

/// Computes mean, standard deviation and the percentile bootstrap interval of the mean.
///
/// Resample r draws n values with replacement from its own stream Random(seed).fork(r); the ends
/// are the (1 -+ confidence) / 2 quantiles of the resampled means, interpolated linearly as in
/// numpy.percentile. Deterministic for given values, order and seed.
///
/// @throws InvalidArgument  if `values` is empty or contains a value that is not finite.
/// Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13.
Summary summarize(std::span<const double> values, const SummaryOptions& options = {});

/// Computes summarize() of several samples, bit-identical to separate calls, in little more than
/// the time of one: their resamples draw the same items.
/// @throws InvalidArgument  as summarize(), or if sizes differ.
std::vector<Summary> summarize_together(std::span<const std::vector<double>> samples,
                                        const SummaryOptions& options = {});

/// Returns the bytes that summarize_together() needs for `num_samples` samples: at most 64 MiB,
/// unless one needs more.
std::int64_t summary_bytes(std::int64_t num_samples, const SummaryOptions& options);

/// Minimum number of blocks; with fewer the interval is unreliable.
inline constexpr std::int64_t kFewestBlocks = 5;

struct Block {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Splits `num_items` items in order into blocks whose sizes differ by at most one.
/// @throws InvalidArgument  if there are fewer items than blocks, or fewer blocks than 5.
std::vector<Block> cut_into_blocks(std::int64_t num_items, std::int64_t num_blocks);

struct Jackknife {
  double standard_error = 0.0;
  double ci_low = 0.0;
  double ci_high = 0.0;
  /// One per block, [num_blocks]; their mean is the estimate without its bias of order 1 / n.
  std::vector<double> pseudo_values;
};

/// Estimates the uncertainty of an estimator with the delete-a-block jackknife.
///
///   se^2 = (G - 1) / G sum_g (theta_g - mean theta_g)^2,    interval theta -+ t se
///   pseudo-value of block g = G theta - (G - 1) theta_g
///
/// with t the quantile of Student's t-distribution with G - 1 degrees of freedom. For a mean,
/// blocks of one item give the usual standard error, and the items as pseudo-values.
///
/// @param all      theta, estimated from all data.
/// @param without  theta_g, estimated without block g, [num_blocks >= 5].
/// @throws InvalidArgument  if there are fewer blocks, or a number is not finite.
/// Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 11; Kuensch (1989),
/// Ann. Stat. 17, 1217-1241, for blocks of dependent items.
Jackknife jackknife(double all, std::span<const double> without, double confidence = 0.95);

/// Returns the quantile of the standard normal distribution, 0 < p < 1, to 1e-12.
double normal_quantile(double probability);

/// Returns the quantile of Student's t-distribution, to 3e-3 relative for probabilities in [0.005,
/// 0.995]. Source: Abramowitz & Stegun (1964), 26.7.3 and 26.7.5.
double student_quantile(double probability, std::int64_t degrees_of_freedom);

/// Returns the ranks of `values` from 1; equal values get the mean of their ranks.
std::vector<double> average_ranks(std::span<const double> values);

/// Computes Pearson's correlation, in [-1, 1]; NaN if all values of one side are equal.
/// @throws InvalidArgument  if the sizes differ, are below 2, or a value is not finite.
double pearson_correlation(std::span<const double> x, std::span<const double> y);

/// Computes Spearman's rank correlation: Pearson's of the average ranks. @throws likewise
double spearman_correlation(std::span<const double> x, std::span<const double> y);

/// Computes the partial rank correlation of x and y given z:
///
///   (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2))
///
/// It shows whether x and y agree beyond what both owe to z, e.g. to depth. NaN if x or y has the
/// ranks of z, forwards or backwards. @throws likewise
double partial_spearman_correlation(std::span<const double> x, std::span<const double> y,
                                    std::span<const double> z);

}  // namespace lime
