// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/neighbors/neighbors.h"

namespace lime {

/// The joint probabilities P of t-SNE: symmetric, sum 1, zero between points neither of which is a
/// neighbour of the other. Compressed sparse rows with ascending columns.
struct Affinities {
  std::vector<std::int64_t> offset;  ///< [num_points + 1]
  std::vector<std::int32_t> column;  ///< [offset.back()]
  std::vector<double> value;         ///< same length; > 0 or, from underflow, 0

  std::int64_t num_points() const { return static_cast<std::int64_t>(offset.size()) - 1; }
};

/// Computes the conditional probabilities of each point's neighbours.
///
///   p_{j|i} = exp(-beta_i d_ij^2) / sum_k exp(-beta_i d_ik^2)
///   entropy of p_{.|i} = ln(perplexity)
///
/// Computes beta_i by at most 100 bisection steps from 1, until the entropy matches to 1e-5, as
/// scikit-learn does, with the same values. If more than `perplexity` neighbours are equally near
/// (duplicates), no beta matches, and the probability is uniform over them.
///
/// @param squared_distance  [num_points, num_neighbors], from NeighborGraph.
/// @return [num_points, num_neighbors], rows of sum 1.
/// Source: van der Maaten & Hinton (2008), JMLR 9, eq. 1 and section 2.
MatrixD conditional_probabilities(const MatrixD& squared_distance, double perplexity,
                                  ThreadPool& pool);

/// Computes joint probabilities, (p_{j|i} + p_{i|j}) / (2 num_points).
Affinities joint_probabilities(const NeighborGraph::Indices& index, const MatrixD& conditional,
                               ThreadPool& pool);

}  // namespace lime
