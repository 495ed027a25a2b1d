// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "core/matrix.h"

namespace lime {

/// Number of sums per sequence that the intraclass correlation needs.
inline constexpr Eigen::Index kIntraclassSums = 5;

/// Sets them from column `first` on.
/// @param between  tokens |m - mu|^2, m the mean token of the sequence, mu that of all sequences.
/// @param within   sum |x - m|^2.
template <typename Row>
void set_intraclass_sums(Row&& row, Eigen::Index first, double tokens, double between,
                         double within) {
  row[first] = tokens > 0.0 ? 1.0 : 0.0;
  row[first + 1] = tokens;
  row[first + 2] = tokens * tokens;
  row[first + 3] = between;
  row[first + 4] = within;
}

/// Computes the intraclass correlation of tokens in their sequence from the sums over sequences:
///
///   s_b = (MS_between - MS_within) / n_0,   rho = max(s_b, 0) / (max(s_b, 0) + MS_within)
///
/// with the mean squares and n_0 of a one-way analysis of variance with random effects, so that it
/// is 0 in expectation for tokens in random order, whatever the lengths. NaN for one sequence, one
/// token per sequence or equal rows. Source: Donner & Koval (1980), Biometrics 36, 19-25.
inline double intraclass_of(const VectorD& sums, Eigen::Index first) {
  const double sequences = sums[first];
  const double tokens = sums[first + 1];
  if (sequences < 2.0 || tokens <= sequences) return std::numeric_limits<double>::quiet_NaN();
  const double between = sums[first + 3] / (sequences - 1.0);
  const double within = sums[first + 4] / (tokens - sequences);
  const double size = (tokens - sums[first + 2] / tokens) / (sequences - 1.0);
  const double variance = std::max(0.0, (between - within) / size);
  return variance / (variance + within);
}

}  // namespace lime
