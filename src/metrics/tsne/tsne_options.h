// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/matrix.h"
#include "core/options.h"
#include "metrics/neighbors/neighbors.h"

namespace lime {

/// Initialisation of the embedding.
enum class TsneInit {
  kPca,     ///< first two principal components, scaled to a standard deviation of 1e-4
  kRandom,  ///< normal variates of standard deviation 1e-4
};

/// Computation of the repulsive sums over all pairs.
enum class TsneRepulsion {
  kAuto,       ///< theta 0: exact in double; else exact up to 1000 points, Barnes-Hut beyond
  kExact,      ///< every pair; float32, or double if theta is 0
  kBarnesHut,  ///< quadtree with opening angle `theta` (van der Maaten 2014)
};

template <>
struct EnumNames<TsneInit> {
  static constexpr std::array<std::pair<TsneInit, std::string_view>, 2> kNames = {
      {{TsneInit::kPca, "pca"}, {TsneInit::kRandom, "random"}}};
};

template <>
struct EnumNames<TsneRepulsion> {
  static constexpr std::array<std::pair<TsneRepulsion, std::string_view>, 3> kNames = {
      {{TsneRepulsion::kAuto, "auto"},
       {TsneRepulsion::kExact, "exact"},
       {TsneRepulsion::kBarnesHut, "barnes-hut"}}};
};

/// Settings of t-SNE; names and defaults are scikit-learn's where it has them.
struct TsneOptions {
  /// Effective number of neighbours of a point, >= 1; at most (num_points - 1) / 3.
  double perplexity = 30.0;
  /// Barnes-Hut trade-off in [0, 1] (scikit-learn: `angle`); 0 computes the exact gradient in
  /// double and overrides `repulsion`.
  double theta = 0.5;
  TsneRepulsion repulsion = TsneRepulsion::kAuto;
  TsneInit init = TsneInit::kPca;
  std::uint64_t seed = 0;

  /// Total number of iterations, > 0.
  std::int64_t iterations = 1000;
  /// Number of those with early exaggeration; >= 0.
  std::int64_t exaggeration_iterations = 250;
  /// Factor of the affinities during early exaggeration; >= 1.
  double early_exaggeration = 12.0;
  /// Learning rate; unset: max(num_points / early_exaggeration / 4, 50) (Belkina et al. 2019).
  std::optional<double> learning_rate = std::nullopt;
  /// Momentum in [0, 1), during and after early exaggeration (van der Maaten & Hinton 2008).
  double initial_momentum = 0.5;
  double final_momentum = 0.8;
  /// Minimum gain of a coordinate, in (0, 1] (Jacobs 1988, as in van der Maaten's code).
  double min_gain = 0.01;
  /// Stops when the norm of the gradient falls below this; >= 0.
  double min_grad_norm = 1e-7;
  /// Stops when the divergence has not decreased for this many iterations after the early
  /// exaggeration; > 0. scikit-learn: `n_iter_without_progress`.
  std::int64_t patience = 300;
  NeighborOptions neighbors = {};

  void describe(OptionList& list);
  /// @throws InvalidArgument  naming the first field out of range.
  void validate() const;
  /// Checks the fields and the perplexity against the number of points.
  void validate(Eigen::Index num_points) const;

  /// Returns the number of neighbours with non-zero affinity: floor(3 perplexity + 1), at most
  /// num_points - 1.
  std::int64_t num_neighbors(Eigen::Index num_points) const;
  double learning_rate_for(Eigen::Index num_points) const;
};

}  // namespace lime
