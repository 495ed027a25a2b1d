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

}  // namespace lime
