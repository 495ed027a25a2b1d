// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"

namespace lime {

/// Mean over rows with the standard error over sequences.
struct ClusteredMean {
  double mean = 0.0;
  /// sqrt(G / (G - 1) sum_g (sum_{i in g} (v_i - mean))^2) / n of G sequences; NaN if G < 5.
  double standard_error = 0.0;
  std::int64_t sequences = 0;
};

/// Computes the mean of `values`, of which those of a sequence are dependent.
/// @param sequence  of each value, ascending, or empty.
ClusteredMean clustered_mean(const VectorD& values, std::span<const std::int32_t> sequence);

}  // namespace lime
