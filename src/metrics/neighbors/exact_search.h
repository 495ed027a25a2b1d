// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics.

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/simd/vector.h"
#include "core/threads/thread_pool.h"

namespace lime::neighbors {

/// Rows of a sliver and columns of a register tile of float products.
inline constexpr int kSliverVectors = 3;
inline constexpr std::int64_t kSliverRows = kSliverVectors * simd::kLanes<float>;
inline constexpr int kTileCols = simd::kLanes<float> >= 16 ? 8 : 4;
static_assert(kSliverRows % kTileCols == 0);

/// Preprocessing of points before rounding to float32: (x - shift) * scale, so that products
/// neither lose digits to a common mean nor overflow. `scale` is a power of two.
struct Centering {
  Eigen::RowVectorXd shift;
  double scale = 1.0;
};

/// Computes the mean of the rows, and the scale that maps the largest deviation to about 1.
Centering centering_of(const ConstMatrixRef& points, ThreadPool& pool);

/// Points packed as products read them: slivers of kSliverRows rows, column by column, then zeros.
class PackedPoints {
 public:
  PackedPoints(const ConstMatrixRef& points, const Centering& centering, ThreadPool& pool);

  std::int64_t rows() const { return rows_; }
  std::int64_t dim() const { return dim_; }
  std::int64_t num_slivers() const { return (rows_ + kSliverRows - 1) / kSliverRows; }
  const float* sliver(std::int64_t index) const {
    return data_.data() + index * kSliverRows * dim_;
  }
  /// Returns the squared lengths, [num_slivers * kSliverRows], summed in the order of
  /// multiply_slivers(): equal points have distance exactly 0.
  const float* squared_norms() const { return squared_norms_.data(); }

 private:
  std::int64_t rows_;
  std::int64_t dim_;
  Eigen::ArrayXf data_;
  Eigen::ArrayXf squared_norms_;
};

/// Computes products[j, i] = <a row i, b row j> of two slivers, [kSliverRows, kSliverRows].
/// Every product is summed in the same order.
void multiply_slivers(const float* a, const float* b, std::int64_t dim, float* products);

/// One found neighbour; ordered by distance, then by index.
struct Candidate {
  float squared_distance;  ///< in the units of the packed points
  std::int32_t index;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.squared_distance != b.squared_distance) return a.squared_distance < b.squared_distance;
    return a.index < b.index;
  }
};

struct SearchPlan {
  std::int64_t num_neighbors = 1;
  /// `self[i]` is the base point that query i excludes; empty: none.
  std::span<const std::int64_t> self = {};
};

/// Returns the nearest base points of every query, sorted, [num_queries * num_neighbors]. Both are
/// packed with the same centering; the base has at least num_neighbors other points.
std::vector<Candidate> exact_search(const PackedPoints& queries, const PackedPoints& base,
                                    const SearchPlan& plan, ThreadPool& pool,
                                    const std::stop_token& stop);

}  // namespace lime::neighbors
