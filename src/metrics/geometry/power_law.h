// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lime {

/// Returns the square roots of the largest `count` eigenvalues, descending; 0 for negative ones.
/// @throws InvalidArgument  if one is not finite.
std::vector<double> singular_values(std::span<const double> eigenvalues, std::int64_t count);

/// Eigenvalues of a power-law fit, counted from 1 in descending order.
struct PowerLawRange {
  std::int64_t first = 11;  ///< >= 1
  std::int64_t last = 50;   ///< >= first + 3

  void validate() const;
};

/// A power law lambda_j ~ j^-alpha, fitted to the eigenvalues of a covariance matrix.
struct PowerLaw {
  double alpha = 0.0;
  double r2 = 0.0;    ///< fraction of the variance of ln lambda over the range, unweighted
  double head = 0.0;  ///< alpha of the first half of the range, split at its geometric mean
  double tail = 0.0;  ///< alpha of the second half
};

/// Fits ln lambda_j = c - alpha ln j by least squares with weights 1 / j.
///
/// The larger alpha, the fewer directions have most of the variance. If `head` and `tail` differ,
/// the spectrum is no power law.
/// @param eigenvalues  of the centred Gram matrix, in any order.
/// @param dim          dimensions of a row; decides which singular values are rounding errors.
/// @throws InvalidArgument  if the range exceeds the rank.
/// Source: Agrawal et al. (2022), "alpha-ReQ"; weights from Stringer et al. (2019).
PowerLaw fit_power_law(std::span<const double> eigenvalues, std::int64_t dim,
                       const PowerLawRange& range = {});

}  // namespace lime
