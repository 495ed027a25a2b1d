// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/neighbors.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/errors.h"
#include "metrics/neighbors/exact_search.h"
#include "metrics/neighbors/inverted_file.h"

namespace lime {
namespace {

using neighbors::Candidate;
using neighbors::PackedPoints;

/// Multiply-adds of an exact search above which `auto` builds an inverted file.
constexpr double kMostExactWork = 1e12;
/// A squared distance below this fraction of the squared norm about the mean is recomputed in
/// double.
constexpr double kRecomputeBelow = 1e-1;
/// If even the last neighbour is this near, rounding may have dropped a nearer one: the point is
/// compared with all others in double.
constexpr double kDoubtBelow = 2e-2;

struct Distance {
  double squared;
  std::int32_t index;

  friend bool operator<(const Distance& a, const Distance& b) {
    if (a.squared != b.squared) return a.squared < b.squared;
    return a.index < b.index;
  }
};

double squared_distance(const ConstMatrixRef& points, Eigen::Index a, Eigen::Index b) {
  return (points.row(a).cast<double>() - points.row(b).cast<double>()).squaredNorm();
}

/// Returns the nearest neighbours of `row` among all points, in double.
std::vector<Distance> search_in_double(const ConstMatrixRef& points, Eigen::Index row,
                                       std::int64_t wanted) {
  std::vector<Distance> all;
  all.reserve(static_cast<std::size_t>(points.rows()));
  for (Eigen::Index other = 0; other < points.rows(); ++other) {
    if (other == row) continue;
    all.push_back({squared_distance(points, row, other), static_cast<std::int32_t>(other)});
  }
  std::partial_sort(all.begin(), all.begin() + wanted, all.end());
  all.resize(static_cast<std::size_t>(wanted));
  return all;
}

/// Refines the float32 results of one point to exact distances.
std::vector<Distance> refine(const ConstMatrixRef& points, Eigen::Index row,
                             std::span<const Candidate> found, double squared_norm, double scale) {
  std::vector<Distance> refined;
  refined.reserve(found.size());
  for (const Candidate& candidate : found) {
    const auto distance = static_cast<double>(candidate.squared_distance);
    refined.push_back({distance < kRecomputeBelow * squared_norm
                           ? squared_distance(points, row, candidate.index)
                           : distance / (scale * scale),
                       candidate.index});
  }
  std::sort(refined.begin(), refined.end());
  const auto farthest = static_cast<double>(found.back().squared_distance);
  // Equal points also have distance 0 in float32, and nothing is nearer.
  const bool all_equal = refined.back().squared == 0.0;
  if (farthest < kDoubtBelow * squared_norm && !all_equal) {
    return search_in_double(points, row, std::ssize(found));
  }
  return refined;
}

void exact_neighbors(const ConstMatrixRef& points, const PackedPoints& packed, double scale,
                     NeighborGraph& graph, ThreadPool& pool, const std::stop_token& stop) {
  const std::int64_t wanted = graph.index.cols();
  std::vector<std::int64_t> self(static_cast<std::size_t>(points.rows()));
  std::iota(self.begin(), self.end(), 0);
  const std::vector<Candidate> found =
      neighbors::exact_search(packed, packed, {.num_neighbors = wanted, .self = self}, pool, stop);
  pool.parallel_for(
      points.rows(),
      [&](std::int64_t row) {
        const std::span<const Candidate> of_row(found.data() + row * wanted,
                                                static_cast<std::size_t>(wanted));
        const std::vector<Distance> refined =
            refine(points, row, of_row, packed.squared_norms()[row], scale);
        for (std::int64_t i = 0; i < wanted; ++i) {
          graph.index(row, i) = refined[static_cast<std::size_t>(i)].index;
          graph.squared_distance(row, i) = refined[static_cast<std::size_t>(i)].squared;
        }
      },
      stop);
  graph.search = NeighborSearch::kExact;
  graph.recall = 1.0;
}

bool searches_exactly(const ConstMatrixRef& points, NeighborSearch search) {
  if (search != NeighborSearch::kAuto) return search == NeighborSearch::kExact;
  const auto count = static_cast<double>(points.rows());
  return count * count * static_cast<double>(points.cols()) <= kMostExactWork;
}

}  // namespace

void NeighborOptions::validate() const {
  if (!(target_recall > 0.0 && target_recall <= 1.0)) {
    throw InvalidArgument("target_recall: must be in (0, 1], got {}", target_recall);
  }
}

void check_finite_rows(const ConstMatrixRef& points) {
  for (Eigen::Index row = 0; row < points.rows(); ++row) {
    // x * 0 is 0 for finite x and NaN else; the sum is much faster than a test per value.
    if ((points.row(row) * 0.0F).sum() == 0.0F) continue;
    for (Eigen::Index col = 0; col < points.cols(); ++col) {
      if (std::isfinite(points(row, col))) continue;
      throw InvalidArgument(
          "rows must be finite, got {} in row {}, dimension {}; check the model for overflow",
          points(row, col), row, col);
    }
  }
}

NeighborGraph find_neighbors(const ConstMatrixRef& points, std::int64_t num_neighbors,
                             const NeighborOptions& options, ThreadPool& pool,
                             const std::stop_token& stop) {
  options.validate();
  if (num_neighbors < 1 || num_neighbors >= points.rows()) {
    throw InvalidArgument("neighbours: must be in [1, {}] for {} points, got {}",
                          std::max<std::int64_t>(points.rows() - 1, 1), points.rows(),
                          num_neighbors);
  }
  check_finite_rows(points);
  const neighbors::Centering centering = neighbors::centering_of(points, pool);
  const PackedPoints packed(points, centering, pool);
  NeighborGraph graph;
  graph.index.resize(points.rows(), num_neighbors);
  graph.squared_distance.resize(points.rows(), num_neighbors);
  if (searches_exactly(points, options.search)) {
    exact_neighbors(points, packed, centering.scale, graph, pool, stop);
  } else {
    neighbors::inverted_file_search(points, packed, centering, options, graph, pool, stop);
  }
  return graph;
}

}  // namespace lime
