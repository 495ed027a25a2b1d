// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/neighbors.

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/threads/thread_pool.h"
#include "metrics/neighbors/packed_points.h"

namespace lime::neighbors {

/// One found neighbour; ordered by distance, then by index.
struct Candidate {
  float squared_distance;  ///< in the units of the packed points
  std::int32_t index;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.squared_distance != b.squared_distance) return a.squared_distance < b.squared_distance;
    return a.index < b.index;
  }
};

/// Queries and number of neighbours of a search.
struct SearchPlan {
  std::int64_t num_neighbors = 1;
  /// `self[i]` is the base point that query i excludes; empty: none.
  std::span<const std::int64_t> self = {};
};

/// Returns the nearest base points of every query, sorted, [num_queries * num_neighbors]. Both must
/// have been packed with the same centering. The base must have at least num_neighbors points
/// besides the query itself.
std::vector<Candidate> exact_search(const PackedPoints& queries, const PackedPoints& base,
                                    const SearchPlan& plan, ThreadPool& pool,
                                    const std::stop_token& stop);

}  // namespace lime::neighbors
