// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/matrix.h"
#include "metrics/summary.h"

namespace lime {

/// A number with the ends of its interval over sequences; NaN ends: no interval.
struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();

  bool has_interval() const { return low <= high; }
};

/// Whether an estimate lies on one side of a threshold with its whole interval.
enum class Side { kBelow, kUndecided, kAbove };

/// Returns the side of `threshold` on which the interval is; without an interval, the value. An
/// undefined value (NaN) is kBelow.
Side side_of(const Estimate& estimate, double threshold);

/// Fewer sequences give no interval: resampling so few items says nothing.
inline constexpr std::int64_t kFewestResampledSequences = 5;

/// Estimates functions of the sums over sequences, with percentile bootstrap intervals: a resample
/// draws as many sequences as there are, with replacement, and adds up their sums.
///
/// @param sums  one row per sequence, [num_sequences, num_sums].
/// @param functions    functions of the column sums, [num_sums].
/// @return one estimate per function; without interval for fewer than 5 sequences or no resamples.
///         Resamples in which a function is not finite are left out of its interval.
/// Deterministic for given sums, order and seed. Source: Efron & Tibshirani (1993), ch. 13; ratios
/// of sums, so that long sequences have more weight: Cochran (1977), Sampling Techniques, ch. 6.
std::vector<Estimate> resampled(const MatrixD& sums,
                                std::span<const std::function<double(const VectorD&)>> functions,
                                const SummaryOptions& options);

}  // namespace lime
