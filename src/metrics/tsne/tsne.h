// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "core/matrix.h"
#include "core/options.h"
#include "core/threads/thread_pool.h"
#include "metrics/neighbors/neighbors.h"
#include "metrics/tsne/affinities.h"
#include "metrics/tsne/initialization.h"

namespace lime {

/// Computation of the repulsive sums over all pairs.
enum class TsneRepulsion {
  kAuto,       ///< theta 0: exact in double; else exact up to 1000 points, Barnes-Hut beyond
  kExact,      ///< every pair; float32, or double if theta is 0
  kBarnesHut,  ///< quadtree with opening angle `theta` (van der Maaten 2014)
};

constexpr auto names_of(TsneRepulsion) {
  using enum TsneRepulsion;
  return enum_table<TsneRepulsion>(
      {{kAuto, "auto"}, {kExact, "exact"}, {kBarnesHut, "barnes-hut"}});
}

/// Settings of t-SNE; names and defaults are scikit-learn's where it has them.
struct TsneOptions {
  /// Effective number of neighbours of a point, >= 1; at most (num_points - 1) / 3.
  double perplexity = 30.0;
  /// Barnes-Hut trade-off in [0, 1] (scikit-learn: `angle`); 0: exact gradient in double.
  double theta = 0.5;
  TsneRepulsion repulsion = TsneRepulsion::kAuto;
  TsneInit init = TsneInit::kPca;
  std::uint64_t seed = 0;

  /// Total number of iterations, >= 0. 0 gives the initial embedding: by default, PCA.
  std::int64_t iterations = 1000;
  /// Number of those with early exaggeration; >= 0.
  std::int64_t exaggeration_iterations = 250;
  /// Number of iterations over which the exaggeration then falls to 1; >= 0. At most half of those
  /// that follow the early exaggeration are used. scikit-learn: 0.
  std::int64_t annealing_iterations = 250;
  /// Factor of the affinities during early exaggeration; >= 1.
  double early_exaggeration = 12.0;
  /// Learning rate; unset: num_points / exaggeration / 4 at the present exaggeration (Belkina et
  /// al. 2019).
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

  /// Returns the number of neighbours with non-zero affinity: floor(3 perplexity + 1) or fewer.
  std::int64_t num_neighbors(Eigen::Index num_points) const;
  /// @param exaggeration  at present; 1 after the annealing.
  double learning_rate_for(Eigen::Index num_points, double exaggeration = 1.0) const;
  /// Returns the number of annealing iterations that fit into `iterations`.
  std::int64_t num_annealing_iterations() const;
};

enum class TsneEnd {
  kIterations,  ///< the maximum number was reached
  kNoProgress,  ///< the divergence did not fall for `patience` iterations
  kGradient,    ///< the gradient's norm fell below `min_grad_norm`
  kCallback,    ///< the callback requested it
};

constexpr auto names_of(TsneEnd) {
  using enum TsneEnd;
  return enum_table<TsneEnd>({{kIterations, "iterations"},
                              {kNoProgress, "no progress"},
                              {kGradient, "small gradient"},
                              {kCallback, "callback"}});
}

/// State passed to a callback, every 50 iterations and after the last one.
struct TsneStep {
  std::int64_t iteration = 0;  ///< completed so far
  std::int64_t iterations = 0;
  double kl_divergence = 0.0;  ///< to the affinities without exaggeration
  double grad_norm = 0.0;
  const MatrixD& embedding;  ///< [num_points, 2]
};
/// Returns false to stop the run. Called on the thread that started the run.
using TsneStepFn = std::function<bool(const TsneStep&)>;

struct TsneResult {
  MatrixD embedding;  ///< [num_points, 2]
  /// sum p_ij ln(p_ij / q_ij), with all pairs in the normalisation of q.
  double kl_divergence = 0.0;
  double grad_norm = 0.0;  ///< at the last iteration
  std::int64_t iterations = 0;
  TsneEnd end = TsneEnd::kIterations;
  TsneRepulsion repulsion = TsneRepulsion::kExact;  ///< the one used; never kAuto
  NeighborSearch search = NeighborSearch::kExact;   ///< likewise
  double recall = 1.0;                              ///< of the neighbours
  double neighbors_seconds = 0.0;
  double affinities_seconds = 0.0;
  double optimization_seconds = 0.0;  ///< including initialisation
};

/// Computes a 2-D t-SNE embedding of points.
///
///   minimise KL(P || Q),   q_ij = (1 + |y_i - y_j|^2)^-1 / sum_{k != l} (1 + |y_k - y_l|^2)^-1
///
/// Distances within a cluster and between neighbouring clusters are meaningful; sizes of clusters
/// and distances between remote ones are not. Equal points start, and stay, close to each other.
///
/// @param points   [num_points, dim], finite, not all equal.
/// @param start    initial embedding, [num_points, 2], used unchanged; unset: options.init.
/// @param pool     gives the number of threads; results are bit-identical for any.
/// @throws InvalidArgument  if options are invalid for the points (names the largest perplexity), a
///         row is not finite (names the first), or all rows are equal.
/// @throws NumericalError   if the embedding is not finite, ends above the divergence of its start,
///         has lost the spread of its start, or is orders of magnitude too large.
/// @throws Interrupted
/// Memory: a copy of the points in float32, and about 40 bytes per neighbour.
/// Source: van der Maaten & Hinton (2008), JMLR 9; van der Maaten (2014), JMLR 15; settings of
/// scikit-learn, see docs/numerics.md.
TsneResult tsne(const ConstMatrixRef& points, const TsneOptions& options, ThreadPool& pool,
                const std::optional<MatrixD>& start = std::nullopt, const TsneStepFn& on_step = {},
                const std::stop_token& stop = {});

/// Runs only the optimisation, from given affinities. @param start  [num_points, 2], finite.
TsneResult tsne_from_affinities(const Affinities& affinities, MatrixD start,
                                const TsneOptions& options, ThreadPool& pool,
                                const TsneStepFn& on_step = {}, const std::stop_token& stop = {});

}  // namespace lime
