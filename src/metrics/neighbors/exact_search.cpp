// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/exact_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "linalg/packed_product.h"

namespace lime::neighbors {
namespace {

/// Columns per partial sum: panels stay in the L1 cache, and rounding grows with blocks only.
constexpr std::int64_t kDepthBlock = 128;
constexpr std::int64_t kMeanBlock = 256;
constexpr std::int64_t kRows = kPanelRows<float>;

using SimdF = simd::Vector<float>;
constexpr auto kFloatLanes = static_cast<int>(simd::kLanes<float>);

/// Query panels per work item; each base panel is compared with all of them while in cache.
constexpr std::int64_t kGroupPanels = 4;
constexpr std::int64_t kGroupRows = kGroupPanels * kRows;

/// Keeps the nearest candidates of one query: unsorted, and pruned whenever it is full.
class Nearest {
 public:
  Nearest(std::int64_t requested, std::int64_t self) : num_requested_(requested), self_(self) {
    kept_.reserve(static_cast<std::size_t>(2 * requested + kRows));
  }

  /// Adds a candidate and returns the key above which further ones need not be added.
  float add(float key, std::int64_t index) {
    if (index == self_) return threshold_;
    kept_.push_back({key, static_cast<std::int32_t>(index)});
    if (kept_.size() == kept_.capacity()) thin_out();
    return threshold_;
  }

  std::span<const Candidate> finish() {
    thin_out();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  void thin_out() {
    if (static_cast<std::int64_t>(kept_.size()) <= num_requested_) return;
    const auto last = kept_.begin() + (num_requested_ - 1);
    std::nth_element(kept_.begin(), last, kept_.end());
    threshold_ = last->squared_distance;
    kept_.resize(static_cast<std::size_t>(num_requested_));
  }

  std::int64_t num_requested_;
  std::int64_t self_;
  float threshold_ = std::numeric_limits<float>::infinity();
  std::vector<Candidate> kept_;
};

/// Passes the products of one query panel and one base panel to the queries.
///
/// The key of a candidate is its squared distance minus the squared norm of the query.
void offer(const float* products, const PackedPoints& base, std::int64_t panel,
           std::span<Nearest> nearest, float* thresholds) {
  const std::int64_t first = panel * kRows;
  const auto num_base = static_cast<int>(std::min<std::int64_t>(kRows, base.rows() - first));
  const auto num_queries = static_cast<int>(nearest.size());
  for (int j = 0; j < num_base; ++j) {
    const SimdF norm(base.squared_norms()[first + j]);
    for (std::int64_t i = 0; i < kRows; i += kFloatLanes) {
      const SimdF product = simd::load(products + j * kRows + i);
      const SimdF key = norm - (product + product);
      const auto closer = key < simd::load(thresholds + i);
      if (!std::experimental::any_of(closer)) continue;
      for (int lane = 0; lane < kFloatLanes && i + lane < num_queries; ++lane) {
        const auto at = static_cast<std::size_t>(lane);
        if (!closer[at]) continue;
        thresholds[i + lane] = nearest[static_cast<std::size_t>(i + lane)].add(key[at], first + j);
      }
    }
  }
}

void search_group(const PackedPoints& queries, const PackedPoints& base, std::int64_t first,
                  std::span<Nearest> nearest) {
  const auto rows = static_cast<std::int64_t>(nearest.size());
  Eigen::ArrayXf products(kRows * kRows);
  Eigen::ArrayXf thresholds =
      Eigen::ArrayXf::Constant(kGroupRows, std::numeric_limits<float>::infinity());
  for (std::int64_t s = 0; s < base.num_panels(); ++s) {
    for (std::int64_t row = 0; row < rows; row += kRows) {
      panel_products(queries.panel((first + row) / kRows), base.panel(s), base.dim(),
                     products.data());
      const auto in_panel = static_cast<std::size_t>(std::min<std::int64_t>(kRows, rows - row));
      offer(products.data(), base, s, nearest.subspan(static_cast<std::size_t>(row), in_panel),
            thresholds.data() + row);
    }
  }
}

}  // namespace

Centering centering_of(const ConstMatrixRef& points, ThreadPool& pool) {
  const std::int64_t num_blocks = (points.rows() + kMeanBlock - 1) / kMeanBlock;
  MatrixD sums(num_blocks, points.cols());
  const auto rows_of = [&](std::int64_t block) {
    return points.middleRows(block * kMeanBlock,
                             std::min(kMeanBlock, points.rows() - block * kMeanBlock));
  };
  pool.parallel_for(num_blocks, [&](std::int64_t block) {
    sums.row(block).setZero();
    const auto rows = rows_of(block);
    for (Eigen::Index r = 0; r < rows.rows(); ++r) sums.row(block) += rows.row(r).cast<double>();
  });
  Centering centering;
  centering.shift = sums.colwise().sum() / static_cast<double>(points.rows());
  Eigen::ArrayXd largest(num_blocks);
  pool.parallel_for(num_blocks, [&](std::int64_t block) {
    const auto rows = rows_of(block);
    double most = 0.0;
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      most = std::max(most, (rows.row(r).cast<double>() - centering.shift).cwiseAbs().maxCoeff());
    }
    largest[block] = most;
  });
  const double most = largest.maxCoeff();
  if (most > 0.0) centering.scale = std::exp2(-std::ceil(std::log2(most)));
  return centering;
}

PackedPoints::PackedPoints(const ConstMatrixRef& points, const Centering& centering,
                           ThreadPool& pool) {
  panels_.resize(points.rows(), points.cols());
  squared_norms_.resize(num_panels() * kRows);
  pool.parallel_for(num_panels(), [&](std::int64_t index) {
    float* const panel = panels_.panel(0, index);
    const std::int64_t first = index * kRows;
    linalg::pack_panel(panel, std::min(kRows, rows() - first), dim(),
                       [&](std::int64_t r, std::int64_t p) {
                         const auto value = static_cast<double>(points(first + r, p));
                         return static_cast<float>((value - centering.shift[p]) * centering.scale);
                       });
    Eigen::ArrayXf products(kRows * kRows);
    panel_products(panel, panel, dim(), products.data());
    for (int r = 0; r < kRows; ++r) squared_norms_[first + r] = products[r * kRows + r];
  });
}

void panel_products(const float* a, const float* b, std::int64_t dim, float* products) {
  for (std::int64_t p = 0; p < dim; p += kDepthBlock) {
    linalg::multiply_panels<float>(a + p * kRows, b + p * kRows, std::min(kDepthBlock, dim - p),
                                   {products, kRows},
                                   p > 0 ? linalg::Accumulate::kYes : linalg::Accumulate::kNo);
  }
}

std::vector<Candidate> exact_search(const PackedPoints& queries, const PackedPoints& base,
                                    const SearchPlan& plan, ThreadPool& pool,
                                    const std::stop_token& stop) {
  assert(queries.dim() == base.dim());
  std::vector<Candidate> found(static_cast<std::size_t>(queries.rows() * plan.num_neighbors));
  pool.parallel_for(
      (queries.rows() + kGroupRows - 1) / kGroupRows,
      [&](std::int64_t group) {
        const std::int64_t first = group * kGroupRows;
        const std::int64_t rows = std::min(kGroupRows, queries.rows() - first);
        std::vector<Nearest> nearest;
        nearest.reserve(static_cast<std::size_t>(rows));
        for (std::int64_t r = first; r < first + rows; ++r) {
          nearest.emplace_back(plan.num_neighbors,
                               plan.self.empty() ? -1 : plan.self[static_cast<std::size_t>(r)]);
        }
        search_group(queries, base, first, nearest);
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::span<const Candidate> kept = nearest[static_cast<std::size_t>(r)].finish();
          assert(static_cast<std::int64_t>(kept.size()) == plan.num_neighbors);
          Candidate* const to = found.data() + (first + r) * plan.num_neighbors;
          for (std::size_t i = 0; i < kept.size(); ++i) {
            const float distance = kept[i].squared_distance + queries.squared_norms()[first + r];
            to[i] = {std::max(distance, 0.0F), kept[i].index};
          }
        }
      },
      stop);
  return found;
}

}  // namespace lime::neighbors
