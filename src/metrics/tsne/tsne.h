// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/tsne/affinities.h"
#include "metrics/tsne/tsne_options.h"

namespace lime {

/// Reason why an optimisation ended.
enum class TsneEnd {
  kIterations,  ///< the maximum number was reached
  kNoProgress,  ///< the divergence did not fall for `patience` iterations
  kGradient,    ///< the gradient's norm fell below `min_grad_norm`
  kCallback,    ///< the callback requested it
};

template <>
struct EnumNames<TsneEnd> {
  static constexpr std::array<std::pair<TsneEnd, std::string_view>, 4> kNames = {
      {{TsneEnd::kIterations, "iterations"},
       {TsneEnd::kNoProgress, "no progress"},
       {TsneEnd::kGradient, "small gradient"},
       {TsneEnd::kCallback, "callback"}}};
};

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

/// An embedding with information on the run.
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
/// @throws NumericalError   if the optimisation diverges (a large learning rate).
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

/// Computes the gradient of the divergence, 4 (sum_j p_ij q_ij Z (y_i - y_j) - sum_j q_ij^2 Z (y_i
/// - y_j)), [num_points, 2], with the repulsion that `options` select.
MatrixD tsne_gradient(const Affinities& affinities, const MatrixD& embedding,
                      const TsneOptions& options, ThreadPool& pool);

/// Computes the divergence of an embedding over all pairs, in double. Time num_points^2.
double tsne_divergence(const Affinities& affinities, const MatrixD& embedding, ThreadPool& pool);

}  // namespace lime
