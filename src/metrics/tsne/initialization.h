// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "core/options.h"
#include "core/threads/thread_pool.h"

namespace lime {

enum class TsneInit {
  kPca,     ///< first two principal components, scaled to a standard deviation of 1e-4
  kRandom,  ///< normal variates of standard deviation 1e-4
};

constexpr auto names_of(TsneInit) {
  using enum TsneInit;
  return enum_table<TsneInit>({{kPca, "pca"}, {kRandom, "random"}});
}

/// Standard deviation of the first coordinate of an initial embedding (Kobak & Berens 2019).
inline constexpr double kTsneInitScale = 1e-4;

/// Projects points on their first two principal components, scaled so that the first has standard
/// deviation 1e-4. A component without variance is replaced by normal variates, because points on
/// one line could never leave it. The sign of a component makes its largest loading positive.
///
/// @param points  [num_points, dim], finite, not all equal.
/// @return [num_points, 2].
/// Uses subspace iteration from `seed`, until the variances change by less than 1e-5.
/// Source: Halko, Martinsson & Tropp (2011), arXiv:0909.4061, algorithm 4.4.
MatrixD pca_initialization(const ConstMatrixRef& points, std::uint64_t seed, ThreadPool& pool);

/// Returns normal variates of standard deviation 1e-4, [num_points, 2].
MatrixD random_initialization(Eigen::Index num_points, std::uint64_t seed);

/// Centres an embedding and scales it so that the larger standard deviation of its coordinates is
/// 1e-4: the start of a run with the orientation of another (openTSNE's `rescale`).
/// @throws InvalidArgument  if it is not [n, 2], not finite, or all points are equal.
MatrixD rescaled_initialization(const ConstMatrixRefD& embedding);

}  // namespace lime
