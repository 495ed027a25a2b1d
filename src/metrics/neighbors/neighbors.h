// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"
#include "core/threads/thread_pool.h"

namespace lime {

enum class NeighborSearch {
  /// Exact up to 1e12 multiply-adds (20,000 points of 2048 dimensions), else an inverted file,
  /// unless that reached the recall with more than an eighth of the groups only.
  kAuto,
  kExact,         ///< compares every point with every other
  kInvertedFile,  ///< FAISS's IndexIVFFlat: compares only with points of the nearest clusters
};

constexpr auto names_of(NeighborSearch) {
  using enum NeighborSearch;
  return enum_table<NeighborSearch>({{kAuto, "auto"}, {kExact, "exact"}, {kInvertedFile, "ivf"}});
}

struct NeighborOptions {
  NeighborSearch search = NeighborSearch::kAuto;
  /// Target recall, in (0, 1]: an inverted file searches more clusters until it is reached.
  double target_recall = 0.98;
  /// Multiply-adds up to which kAuto is exact at once.
  double max_exact_work = 1e12;
  /// Seed of the initial cluster centres and of the points on which the recall is measured.
  std::uint64_t seed = 0;

  void validate() const;
};

/// The nearest neighbours of every point among the others, nearest first; ties: lower index first.
struct NeighborGraph {
  using Indices = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  Indices index;                                   ///< [num_points, num_neighbors]
  MatrixD squared_distance;                        ///< the same shape; squared Euclidean, >= 0
  NeighborSearch search = NeighborSearch::kExact;  ///< the one used; never kAuto
  double recall = 1.0;  ///< fraction of the true neighbours found; measured on up to 1000 points
};

/// Finds the `num_neighbors` nearest neighbours of every point in Euclidean distance.
///
/// A point is not its own neighbour, but an equal one is, at distance exactly 0. Distances are
/// float32 sums about the mean of the points, within 2e-5 relative; if the difference of two points
/// is small relative to them it is recomputed in double.
///
/// @param points         [num_points, dim]; finite.
/// @param num_neighbors  in [1, num_points - 1].
/// @param pool           threads; results are bit-identical for any number of them.
/// @throws InvalidArgument  if a value is not finite, or num_neighbors is out of range.
/// @throws Interrupted
/// Cost: exact, num_points^2 dim multiply-adds in float32, and a packed copy of the points.
/// Source of the inverted file: Johnson, Douze & Jegou (2017), arXiv:1702.08734.
NeighborGraph find_neighbors(const ConstMatrixRef& points, std::int64_t num_neighbors,
                             const NeighborOptions& options, ThreadPool& pool,
                             const std::stop_token& stop = {});

/// Returns the fraction of the neighbours of every point that both graphs share, [num_points]; its
/// mean is the mutual k-nearest-neighbour alignment, about k / num_points if unrelated.
/// @throws InvalidArgument  if the shapes differ.
/// Source: Huh, Cheung, Wang & Isola (2024), arXiv:2405.07987.
VectorD neighbor_overlap(const NeighborGraph::Indices& a, const NeighborGraph::Indices& b);

/// Computes 2 / N times the rank among all points of the nearest neighbour that each of `nearest`
/// has for every point, [nearest.size()][num_points]. The mean is the information imbalance from
/// the space of that neighbour to the space of `points`: 0 if it predicts them, 1 if not.
///
/// @param points   [N, dim], finite; the rank of a point's nearest neighbour is 1.
/// @param nearest  per space the nearest neighbour of every point, [N].
/// Distances are float32 about the mean, those too close to compare in double; bit-identical for
/// any number of threads. Time N^2 (dim + nearest.size()). Source: Glielmo et al. (2022), PNAS
/// Nexus 1, pgac039, eq. 2.
std::vector<VectorD> scaled_ranks(const ConstMatrixRef& points,
                                  std::span<const std::vector<std::int32_t>> nearest,
                                  ThreadPool& pool);

}  // namespace lime
