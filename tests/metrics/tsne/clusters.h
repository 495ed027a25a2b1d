// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/neighbors/neighbors.h"
#include "metrics/random_matrix.h"
#include "metrics/tsne/affinities.h"
#include "metrics/tsne/tsne.h"

namespace lime::testing {

/// Returns points of `num_clusters` separate clusters, cluster by cluster.
inline MatrixF clusters(Eigen::Index num_points, int num_clusters, Eigen::Index dim,
                        std::uint64_t seed) {
  MatrixF points = random_matrix(num_points, dim, seed).cast<float>();
  const MatrixF centres = 6.0F * random_matrix(num_clusters, dim, seed + 1).cast<float>();
  for (Eigen::Index i = 0; i < num_points; ++i) {
    points.row(i) += centres.row(i * num_clusters / num_points);
  }
  return points;
}

/// Returns the affinities of points to their nearest neighbours.
inline Affinities affinities_of(const MatrixF& points, double perplexity) {
  ThreadPool pool(2);
  const NeighborGraph graph = find_neighbors(
      points, TsneOptions{.perplexity = perplexity}.num_neighbors(points.rows()), {}, pool);
  return joint_probabilities(
      graph.index, conditional_probabilities(graph.squared_distance, perplexity, pool), pool);
}

}  // namespace lime::testing
