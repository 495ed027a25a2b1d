// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/matrix.h"
#include "core/running_statistics.h"

namespace lime {

/// Mean and divisor of each dimension.
struct Standardization {
  VectorD mean;     ///< [dim]
  VectorD divisor;  ///< [dim], > 0
};

/// Constant that the LIMe analysis adds to the standard deviation.
inline constexpr double kStandardizationEpsilon = 1e-5;

/// Computes the preprocessing of the LIMe analysis from the statistics of a dataset:
///
///   z = (x - mean) / (sqrt(m2 / (count - 1)) + epsilon)
///
/// @throws InvalidArgument  if count < 2, sizes differ, a value is not finite, m2 is negative or
///                          epsilon is not > 0.
/// Source: corl-team/lime, src/analysis/entropy.py (torch's unbiased std over all sequences and
/// tokens, eps = 1e-5).
Standardization make_standardization(const RunningStatistics& statistics,
                                     double epsilon = kStandardizationEpsilon);

/// Standardises every dimension: z = (x - mean) / divisor, [num_rows, dim], in double.
/// @throws InvalidArgument  if the dimensions differ.
MatrixD standardize(const ConstMatrixRef& rows, const Standardization& standardization);

}  // namespace lime
