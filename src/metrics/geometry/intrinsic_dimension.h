// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"
#include "core/thread_pool.h"

namespace lime {

enum class TwoNnFit {
  kLinear,  ///< straight line through the origin, as Facco et al. fit it
  kMl,      ///< maximum likelihood of the same model, the discarded ratios counted as censored
};

template <>
struct EnumNames<TwoNnFit> {
  static constexpr std::array<std::pair<TwoNnFit, std::string_view>, 2> kNames = {
      {{TwoNnFit::kLinear, "linear"}, {TwoNnFit::kMl, "ml"}}};
};

enum class MleAverage {
  kInverse,  ///< 1 / mean(1 / m): MacKay & Ghahramani (2005), the likelihood of all points together
  kDirect,   ///< mean(m): Levina & Bickel (2005), eq. 9
};

template <>
struct EnumNames<MleAverage> {
  static constexpr std::array<std::pair<MleAverage, std::string_view>, 2> kNames = {
      {{MleAverage::kInverse, "inverse"}, {MleAverage::kDirect, "direct"}}};
};

/// How the intrinsic dimension is estimated from distances to neighbours.
struct IntrinsicDimensionOptions {
  /// Neighbours of a point that the maximum-likelihood estimate uses, >= 2.
  std::int64_t num_neighbors = 20;
  TwoNnFit two_nn_fit = TwoNnFit::kLinear;
  /// Share of the largest ratios that TwoNN leaves out, in [0, 1).
  double two_nn_discard = 0.1;
  MleAverage mle_average = MleAverage::kInverse;
  /// Points closer than this times the root mean square distance from the mean are one point, >= 0.
  double duplicate_tolerance = 1e-6;

  /// @throws InvalidArgument
  void validate() const;
};

/// Estimates TwoNN's dimension from the two smallest distances of every point.
///
///   mu_i = r2_i / r1_i, sorted;   F_i = i / n, i from 1;   -ln(1 - F_i) = d ln mu_i
///
/// `linear` fits d over the smallest (1 - discard) n ratios, `ml` is
/// (m - 1) / (sum_{i <= m} ln mu_i + (n - m) ln mu_m) for the m that are kept.
///
/// @param log_ratios  ln mu_i in any order, >= 0.
/// @return unset where fewer than 2 ratios are kept or all of them are 1.
/// Source: Facco, d'Errico, Rodriguez & Laio (2017), steps 1 to 5; Denti et al. (2022) for `ml`.
std::optional<double> two_nn_dimension(std::vector<double> log_ratios, TwoNnFit fit,
                                       double discard);

/// Estimates the dimension from the distances T_1 <= ... <= T_k of every point.
///
///   m(x) = (k - 1) / sum_{j < k} ln(T_k / T_j)
///
/// @param distances  [num_points, k], ascending, > 0; k >= 2.
/// @return unset where all sums are 0.
/// Source: Levina & Bickel (2005), eq. 8; MacKay & Ghahramani (2005).
std::optional<double> mle_dimension(const MatrixD& distances, MleAverage average);

/// What the neighbours of some points say about the dimension of the set they lie on.
struct IntrinsicDimension {
  std::optional<double> two_nn;
  std::optional<double> mle;
  std::int64_t points = 0;      ///< distinct points that were used
  std::int64_t duplicates = 0;  ///< points dropped because an equal one was kept
  double recall = 1.0;          ///< of the neighbour search
};

/// Estimates the intrinsic dimension of `points`, [num_points, dim].
///
/// Of points that are equal, or closer than the tolerance, the first is kept and the others are
/// counted: they have no ratio of distances. Distances are recomputed in double.
/// @return both unset where fewer than num_neighbors + 1 points are distinct.
/// @throws InvalidArgument  if a value is not finite, or the options are unfit.
/// @throws Interrupted
IntrinsicDimension intrinsic_dimension(const ConstMatrixRef& points,
                                       const IntrinsicDimensionOptions& options, ThreadPool& pool,
                                       const std::stop_token& stop = {});

}  // namespace lime
