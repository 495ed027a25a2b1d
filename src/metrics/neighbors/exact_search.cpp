// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/exact_search.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace lime::neighbors {
namespace {

using SimdF = simd::Vector<float>;
constexpr auto kFloatLanes = static_cast<int>(simd::kLanes<float>);

/// Query slivers per work item; each base sliver is compared with all of them while in cache.
constexpr std::int64_t kGroupSlivers = 4;
constexpr std::int64_t kGroupRows = kGroupSlivers * kSliverRows;

/// Keeps the nearest candidates of one query: unsorted, and pruned whenever it is full.
class Nearest {
 public:
  Nearest(std::int64_t wanted, std::int64_t self) : wanted_(wanted), self_(self) {
    kept_.reserve(static_cast<std::size_t>(2 * wanted + kSliverRows));
  }

  /// Adds a candidate and returns the key above which further ones need not be added.
  float add(float key, std::int64_t index) {
    if (index == self_) return threshold_;
    kept_.push_back({key, static_cast<std::int32_t>(index)});
    if (kept_.size() == kept_.capacity()) thin_out();
    return threshold_;
  }

  /// Returns the nearest ones, sorted.
  std::span<const Candidate> finish() {
    thin_out();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  void thin_out() {
    if (static_cast<std::int64_t>(kept_.size()) <= wanted_) return;
    const auto last = kept_.begin() + (wanted_ - 1);
    std::nth_element(kept_.begin(), last, kept_.end());
    threshold_ = last->squared_distance;
    kept_.resize(static_cast<std::size_t>(wanted_));
  }

  std::int64_t wanted_;
  std::int64_t self_;
  float threshold_ = std::numeric_limits<float>::infinity();
  std::vector<Candidate> kept_;
};

/// Passes the products of one query sliver and one base sliver to the queries.
///
/// The key of a candidate is its squared distance minus the squared norm of the query.
void offer(const float* products, const PackedPoints& base, std::int64_t sliver,
           std::span<Nearest> nearest, float* thresholds) {
  const std::int64_t first = sliver * kSliverRows;
  const auto num_base = static_cast<int>(std::min<std::int64_t>(kSliverRows, base.rows() - first));
  const auto num_queries = static_cast<int>(nearest.size());
  for (int j = 0; j < num_base; ++j) {
    const SimdF norm(base.squared_norms()[first + j]);
    for (std::int64_t i = 0; i < kSliverRows; i += kFloatLanes) {
      const SimdF product = simd::load(products + j * kSliverRows + i);
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

/// Searches for the queries [first, first + nearest.size()).
void search_group(const PackedPoints& queries, const PackedPoints& base, std::int64_t first,
                  std::span<Nearest> nearest) {
  const auto rows = static_cast<std::int64_t>(nearest.size());
  Eigen::ArrayXf products(kSliverRows * kSliverRows);
  Eigen::ArrayXf thresholds =
      Eigen::ArrayXf::Constant(kGroupRows, std::numeric_limits<float>::infinity());
  for (std::int64_t s = 0; s < base.num_slivers(); ++s) {
    for (std::int64_t row = 0; row < rows; row += kSliverRows) {
      multiply_slivers(queries.sliver((first + row) / kSliverRows), base.sliver(s), base.dim(),
                       products.data());
      const auto in_sliver =
          static_cast<std::size_t>(std::min<std::int64_t>(kSliverRows, rows - row));
      offer(products.data(), base, s, nearest.subspan(static_cast<std::size_t>(row), in_sliver),
            thresholds.data() + row);
    }
  }
}

}  // namespace

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
