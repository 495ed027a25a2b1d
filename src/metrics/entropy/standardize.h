// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"

namespace lime {

/// Count, mean and sum of squared deviations of every dimension over a whole data set, as
/// /statistics/ of a capture file stores them.
struct FeatureStatistics {
  std::int64_t count = 0;  ///< rows seen, >= 2
  VectorD mean;            ///< [dim]
  VectorD m2;              ///< [dim], sum of (x - mean)^2
};

/// What is subtracted from and divides each dimension.
struct Standardization {
  VectorD mean;     ///< [dim]
  VectorD divisor;  ///< [dim], > 0
};

/// What the LIMe analysis adds to the standard deviation.
inline constexpr double kStandardizationEpsilon = 1e-5;

/// Derives the preprocessing of the LIMe analysis from the statistics of a data set:
///
///   z = (x - mean) / (sqrt(m2 / (count - 1)) + epsilon)
///
/// @throws InvalidArgument  if count < 2, sizes differ, a value is not finite, m2 is negative or
///                          epsilon is not > 0.
/// Source: corl-team/lime, src/analysis/entropy.py (torch's unbiased std over all sequences and
/// tokens, eps = 1e-5).
Standardization make_standardization(const FeatureStatistics& statistics,
                                     double epsilon = kStandardizationEpsilon);

/// Statistics of the rows at hand, for data that did not come from a capture file. Two passes,
/// in double. @throws InvalidArgument  if there are fewer than two rows.
FeatureStatistics feature_statistics(const ConstMatrixRef& rows);

/// Standardises every dimension: z = (x - mean) / divisor, [num_rows, dim], in double.
/// @throws InvalidArgument  if the dimensions differ.
MatrixD standardize(const ConstMatrixRef& rows, const Standardization& standardization);

}  // namespace lime
