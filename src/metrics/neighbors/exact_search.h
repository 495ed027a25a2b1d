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
#include "linalg/panels.h"

namespace lime::neighbors {

using linalg::kPanelRows;

/// Preprocessing of points before rounding to float32: (x - shift) * scale, so that products
/// neither lose digits to a common mean nor overflow. `scale` is a power of two.
struct Centering {
  Eigen::RowVectorXd shift;
  double scale = 1.0;
};

/// Computes the mean of the rows, and the scale that maps the largest deviation to about 1.
Centering centering_of(const ConstMatrixRef& points, ThreadPool& pool);

/// Points packed in panels, as products read them.
class PackedPoints {
 public:
  PackedPoints(const ConstMatrixRef& points, const Centering& centering, ThreadPool& pool);

  std::int64_t rows() const { return panels_.rows(); }
  std::int64_t dim() const { return panels_.depth(); }
  std::int64_t num_panels() const { return panels_.num_panels(); }
  const float* panel(std::int64_t index) const { return panels_.panel(0, index); }
  /// Returns the squared lengths, [num_panels * kPanelRows], summed in the order of
  /// panel_products(): equal points have distance exactly 0.
  const float* squared_norms() const { return squared_norms_.data(); }

 private:
  linalg::Panels<float> panels_;
  Eigen::ArrayXf squared_norms_;
};

/// Computes products[j, i] = <a row i, b row j> of two panels, [kPanelRows, kPanelRows]. Every
/// product is summed in the same order.
void panel_products(const float* a, const float* b, std::int64_t dim, float* products);

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
