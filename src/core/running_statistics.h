// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"

namespace lime {

/// Accumulates count, mean and sum of squared deviations of every dimension in one pass.
///
///   merge:  delta = mean_b - mean_a,  n = n_a + n_b
///           mean = mean_a + delta n_b / n,   m2 = m2_a + m2_b + delta^2 n_a n_b / n
///
/// Accumulates in double; the result depends on the order of the calls only, never on threads.
/// Not thread-safe. Source: Chan, Golub & LeVeque (1979), eq. 2.1.
struct RunningStatistics {
  std::int64_t count = 0;  ///< rows seen
  VectorD mean;            ///< [dim]; empty before the first row
  VectorD m2;              ///< [dim], sum of (x - mean)^2

  /// Adds `rows`, [num_rows, dim]. @throws InvalidArgument  if dim differs from before.
  void add(const ConstMatrixRef& rows);
  /// Merges the statistics of `other`. @throws InvalidArgument if the dimensions differ.
  void merge(const RunningStatistics& other);
  /// Merges statistics that are stored elsewhere.
  void merge(std::int64_t other_count, std::span<const double> other_mean,
             std::span<const double> other_m2);

  /// Returns the root mean square of each head's part of a row, [num_heads]: sqrt(mean of x^2 over
  /// rows and the head's dimensions). @throws InvalidArgument  if dim is not a multiple.
  VectorD rms_per_head(std::int64_t num_heads) const;
};

}  // namespace lime
