// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "metrics/linalg/simd_float.h"
#include "metrics/tsne/repulsion.h"

namespace lime::tsne_detail {
namespace {

using linalg::kFloatLanes;
using linalg::load;
using linalg::SimdF;
using linalg::store;

/// Points that a leaf holds at most, unless they share a cell of the finest level.
constexpr std::int64_t kLeafPoints = 16;
/// Levels of the tree; a cell of the finest one is 1 / 65536 of the embedding wide.
constexpr int kLevels = 16;
constexpr std::int64_t kPointBlock = 4096;
/// Groups of kFloatLanes points per work item.
constexpr std::int64_t kGroupsPerItem = 8;

/// Bits of x and y alternately, y's above x's (Morton 1966).
std::uint32_t interleave(std::uint32_t x, std::uint32_t y) {
  const auto spread = [](std::uint32_t v) {
    v = (v | (v << 8)) & 0x00FF00FFU;
    v = (v | (v << 4)) & 0x0F0F0F0FU;
    v = (v | (v << 2)) & 0x33333333U;
    return (v | (v << 1)) & 0x55555555U;
  };
  return spread(x) | (spread(y) << 1);
}

struct Key {
  std::uint32_t code;
  std::int32_t point;
};

/// Sorts by code, equal codes in their order.
void radix_sort(std::vector<Key>& keys, std::vector<Key>& scratch) {
  constexpr int kBits = 11;
  scratch.resize(keys.size());
  for (int shift = 0; shift < 32; shift += kBits) {
    std::vector<std::int64_t> next((std::size_t{1} << kBits) + 1, 0);
    const auto digit = [&](const Key& key) {
      return static_cast<std::size_t>((key.code >> shift) & ((1U << kBits) - 1));
    };
    for (const Key& key : keys) ++next[digit(key) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const Key& key : keys) scratch[static_cast<std::size_t>(next[digit(key)]++)] = key;
    keys.swap(scratch);
  }
}

/// A cell of the quadtree. Cells lie in the order in which a walk from the root meets them, so
/// that one walks without a stack: to the next cell, or past this one's descendants.
struct Cell {
  float x;  ///< centre of mass
  float y;
  float count;
  float squared_reach;  ///< (width / theta)^2: farther away, the cell stands for its points
  std::int32_t past;    ///< the first cell that is not a descendant
  std::int32_t begin;   ///< its points, in sorted order
  std::int32_t end;
  bool is_leaf;
};

class BarnesHutRepulsion : public Repulsion {
 public:
  BarnesHutRepulsion(double theta, SpinPool& pool) : theta_(theta), pool_(pool) {}

  double compute(const MatrixD& embedding, MatrixD& force) override {
    sort_points(embedding);
    build_tree();
    const std::int64_t count = embedding.rows();
    const std::int64_t num_groups = (count + kFloatLanes - 1) / kFloatLanes;
    force.resize(count, 2);
    sums_.resize(num_groups);
    pool_.parallel_for((num_groups + kGroupsPerItem - 1) / kGroupsPerItem, [&](std::int64_t item) {
      const std::int64_t last = std::min(num_groups, (item + 1) * kGroupsPerItem);
      for (std::int64_t g = item * kGroupsPerItem; g < last; ++g) sums_[g] = visit(g, force);
    });
    // Each point has met itself, at q = 1.
    return sums_.sum() - static_cast<double>(count);
  }

 private:
  void sort_points(const MatrixD& embedding) {
    const std::int64_t count = embedding.rows();
    const Eigen::RowVector2d low = embedding.colwise().minCoeff();
    const Eigen::RowVector2d span = embedding.colwise().maxCoeff() - low;
    width_ = std::max(span.maxCoeff(), std::numeric_limits<double>::min()) * (1.0 + 1e-9);
    const double scale = std::exp2(kLevels) / width_;
    keys_.resize(static_cast<std::size_t>(count));
    pool_.parallel_for((count + kPointBlock - 1) / kPointBlock, [&](std::int64_t block) {
      const std::int64_t last = std::min(count, (block + 1) * kPointBlock);
      for (std::int64_t i = block * kPointBlock; i < last; ++i) {
        const auto x = static_cast<std::uint32_t>((embedding(i, 0) - low[0]) * scale);
        const auto y = static_cast<std::uint32_t>((embedding(i, 1) - low[1]) * scale);
        keys_[static_cast<std::size_t>(i)] = {interleave(x, y), static_cast<std::int32_t>(i)};
      }
    });
    radix_sort(keys_, scratch_);
    const std::int64_t padded = (count + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
    x_.resize(padded);
    y_.resize(padded);
    mass_x_.resize(count + 1);
    mass_y_.resize(count + 1);
    mass_x_[0] = 0.0;
    mass_y_[0] = 0.0;
    for (std::int64_t i = 0; i < padded; ++i) {
      // The last group is filled up with copies of the last point.
      const std::int32_t point = keys_[static_cast<std::size_t>(std::min(i, count - 1))].point;
      x_[i] = static_cast<float>(embedding(point, 0));
      y_[i] = static_cast<float>(embedding(point, 1));
      if (i >= count) continue;
      mass_x_[i + 1] = mass_x_[i] + embedding(point, 0);
      mass_y_[i + 1] = mass_y_[i] + embedding(point, 1);
    }
  }

  void build_tree() {
    cells_.clear();
    add_cell(0, static_cast<std::int32_t>(keys_.size()), 0);
  }

  /// Adds the cell of the sorted points [begin, end), which agree in the first 2 `level` bits.
  void add_cell(std::int32_t begin, std::int32_t end, int level) {
    const std::size_t at = cells_.size();
    const double count = end - begin;
    const double reach = width_ * std::exp2(-level) / theta_;
    Cell cell;
    cell.x = static_cast<float>((mass_x_[end] - mass_x_[begin]) / count);
    cell.y = static_cast<float>((mass_y_[end] - mass_y_[begin]) / count);
    cell.count = static_cast<float>(count);
    cell.squared_reach = static_cast<float>(std::min(reach * reach, 1e30));
    cell.begin = begin;
    cell.end = end;
    cell.is_leaf = end - begin <= kLeafPoints || level == kLevels;
    cells_.push_back(cell);
    if (!cell.is_leaf) {
      const int shift = 2 * (kLevels - 1 - level);
      std::int32_t from = begin;
      for (std::uint32_t quadrant = 0; quadrant < 4; ++quadrant) {
        const auto to = std::partition_point(keys_.begin() + from, keys_.begin() + end,
                                             [&](const Key& key) {
                                               return ((key.code >> shift) & 3U) <= quadrant;
                                             }) -
                        keys_.begin();
        if (to > from) add_cell(from, static_cast<std::int32_t>(to), level + 1);
        from = static_cast<std::int32_t>(to);
      }
    }
    cells_[at].past = static_cast<std::int32_t>(cells_.size());
  }

  /// Sums in float32 over one walk, a register of points at a time.
  struct Sums {
    SimdF force_x{0.0F};
    SimdF force_y{0.0F};
    SimdF total{0.0F};

    void add(const SimdF& dx, const SimdF& dy, const SimdF& squared_distance, float count) {
      const SimdF q = linalg::reciprocal(squared_distance + SimdF(1.0F));
      const SimdF weighted = SimdF(count) * q;
      total += weighted;
      force_x += weighted * q * dx;
      force_y += weighted * q * dy;
    }
  };

  /// Walks the tree with kFloatLanes points that lie side by side, opening a cell if one of them
  /// is too near; returns their part of Z.
  double visit(std::int64_t group, MatrixD& force) const {
    const std::int64_t first = group * kFloatLanes;
    const std::int64_t count = std::min<std::int64_t>(kFloatLanes, std::ssize(keys_) - first);
    const SimdF x = load(x_.data() + first);
    const SimdF y = load(y_.data() + first);
    Sums sums;
    const auto num_cells = static_cast<std::int32_t>(cells_.size());
    for (std::int32_t at = 0; at < num_cells;) {
      const Cell& cell = cells_[static_cast<std::size_t>(at)];
      const SimdF dx = x - SimdF(cell.x);
      const SimdF dy = y - SimdF(cell.y);
      const SimdF squared_distance = dx * dx + dy * dy;
      const bool holds_one = cell.begin < first + count && first < cell.end;
      if (!holds_one && std::experimental::all_of(squared_distance > SimdF(cell.squared_reach))) {
        sums.add(dx, dy, squared_distance, cell.count);
        at = cell.past;
        continue;
      }
      if (cell.is_leaf) add_points(cell, x, y, sums);
      ++at;
    }
    return store_sums(sums, first, count, force);
  }

  void add_points(const Cell& leaf, const SimdF& x, const SimdF& y, Sums& sums) const {
    for (std::int64_t j = leaf.begin; j < leaf.end; ++j) {
      const SimdF dx = x - SimdF(x_[j]);
      const SimdF dy = y - SimdF(y_[j]);
      sums.add(dx, dy, dx * dx + dy * dy, 1.0F);
    }
  }

  double store_sums(const Sums& sums, std::int64_t first, std::int64_t count,
                    MatrixD& force) const {
    float lanes[3][kFloatLanes];
    store(lanes[0], sums.force_x);
    store(lanes[1], sums.force_y);
    store(lanes[2], sums.total);
    double total = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t point = keys_[static_cast<std::size_t>(first + i)].point;
      force(point, 0) = static_cast<double>(lanes[0][i]);
      force(point, 1) = static_cast<double>(lanes[1][i]);
      total += static_cast<double>(lanes[2][i]);
    }
    return total;
  }

  double theta_;
  SpinPool& pool_;
  double width_ = 0.0;
  std::vector<Key> keys_;
  std::vector<Key> scratch_;
  Eigen::ArrayXf x_;  // in sorted order
  Eigen::ArrayXf y_;
  Eigen::ArrayXd mass_x_;  // running sums
  Eigen::ArrayXd mass_y_;
  std::vector<Cell> cells_;
  Eigen::ArrayXd sums_;
};

}  // namespace

std::unique_ptr<Repulsion> make_barnes_hut_repulsion(double theta, SpinPool& pool) {
  return std::make_unique<BarnesHutRepulsion>(theta, pool);
}

}  // namespace lime::tsne_detail
