// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace lime {

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
