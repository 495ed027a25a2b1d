// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"
#include "core/threads/thread_pool.h"

namespace lime {

enum class TwoNnFit {
  kLinear,  ///< least-squares line through the origin, as in Facco et al.
  kMl,      ///< maximum likelihood of the same model with discarded ratios as censored
};

constexpr auto names_of(TwoNnFit) {
  using enum TwoNnFit;
  return enum_table<TwoNnFit>({{kLinear, "linear"}, {kMl, "ml"}});
}

enum class MleAverage {
  kInverse,  ///< 1 / mean(1 / m): MacKay & Ghahramani (2005), the joint likelihood of all points
  kDirect,   ///< mean(m): Levina & Bickel (2005), eq. 9
};

constexpr auto names_of(MleAverage) {
  using enum MleAverage;
  return enum_table<MleAverage>({{kInverse, "inverse"}, {kDirect, "direct"}});
}

struct IntrinsicDimensionOptions {
  /// Neighbours per point for the maximum-likelihood estimate, >= 2.
  std::int64_t num_neighbors = 20;
  TwoNnFit two_nn_fit = TwoNnFit::kLinear;
  /// Fraction of the largest ratios that TwoNN discards, in [0, 1).
  double two_nn_discard = 0.1;
  MleAverage mle_average = MleAverage::kInverse;
  /// Points closer than this times the rms distance from the mean are duplicates, >= 0.
  double duplicate_tolerance = 1e-6;

  void validate() const;
};

/// Estimates TwoNN's dimension from the two smallest distances of every point.
///
///   mu_i = r2_i / r1_i, sorted;   F_i = i / n, i from 1;   -ln(1 - F_i) = d ln mu_i
///
/// `linear` fits d to the smallest (1 - discard) n ratios, `ml` is (m - 1) / (sum_{i <= m} ln mu_i
/// + (n - m) ln mu_m), m kept.
///
/// @param log_ratios  ln mu_i in any order, >= 0.
/// @return unset if fewer than 2 ratios are kept or all of them are 1.
/// Source: Facco, d'Errico, Rodriguez & Laio (2017), steps 1 to 5; Denti et al. (2022) for `ml`.
std::optional<double> two_nn_dimension(std::vector<double> log_ratios, TwoNnFit fit,
                                       double discard);

/// Estimates the dimension from the distances T_1 <= ... <= T_k of every point.
///
///   m(x) = (k - 1) / sum_{j < k} ln(T_k / T_j)
///
/// @param distances  [num_points, k], ascending, > 0; k >= 2.
/// @return unset if all sums are 0.
/// Source: Levina & Bickel (2005), eq. 8; MacKay & Ghahramani (2005).
std::optional<double> mle_dimension(const MatrixD& distances, MleAverage average);

/// Estimates the dimension from the ratios mu of the distances to neighbours 2 n and n: the d with
///
///   N / d + (n - 1) sum ln(mu) mu^d / (mu^d - 1) = (2 n - 1) sum ln(mu)
///
/// Small n measure the smallest scales, with noise; n = 1 is TwoNN's maximum likelihood.
/// @param log_ratios  ln mu of the N points, >= 0.
/// @return unset if all ratios are 1.
/// Source: Denti, Doimo, Laio & Mira (2022), Sci. Rep. 12, 20005, eq. 8.
std::optional<double> gride_dimension(const VectorD& log_ratios, std::int64_t n);

struct IntrinsicDimension {
  std::optional<double> two_nn;
  std::optional<double> mle;
  std::optional<double> gride;   ///< of the neighbours 2 gride_scale and gride_scale
  std::int64_t gride_scale = 1;  ///< the largest power of 2 with 2 gride_scale <= num_neighbors
  std::int64_t points = 0;       ///< distinct points that were used
  std::int64_t duplicates = 0;   ///< points dropped because an equal one was kept
  double recall = 1.0;           ///< of the neighbour search
};

/// Estimates the intrinsic dimension of `points`, [num_points, dim].
///
/// The first of several points closer than the tolerance is kept. Distances are recomputed in
/// double.
/// @return both unset if fewer than num_neighbors + 1 points are distinct.
/// @throws InvalidArgument  if a value is not finite, or the options are invalid.
/// @throws Interrupted
IntrinsicDimension intrinsic_dimension(const ConstMatrixRef& points,
                                       const IntrinsicDimensionOptions& options, ThreadPool& pool,
                                       const std::stop_token& stop = {});

}  // namespace lime
