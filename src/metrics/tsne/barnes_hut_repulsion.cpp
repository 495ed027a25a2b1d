// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/barnes_hut_repulsion.h"

#include <algorithm>

#include "metrics/tsne/float_lanes.h"
#include "metrics/tsne/quadtree.h"

namespace lime::tsne_detail {
namespace {

/// Groups of kFloatLanes points per work item.
constexpr std::int64_t kGroupsPerItem = 8;

/// Sums in float32 over one tree walk, for a register of points.
class Sums {
 public:
  void add_point(const SimdF& dx, const SimdF& dy) {
    const SimdF q = reciprocal(dy * dy + (dx * dx + SimdF(1.0F)));
    total += q;
    force_x += q * q * dx;
    force_y += q * q * dy;
  }

  /// Adds the points of a remote cell, by Taylor's formula to the second order about their centre
  /// of mass, at the distance d; n of them, with the moments M:
  ///
  ///   sum q   = q (n - q tr M + 4 q^2 d'Md)
  ///   sum q^2 (d - e) = q^2 ((n - 2 q tr M + 12 q^2 d'Md) d - 4 q Md)
  void add_cell(const Quadtree::Cell& cell, const SimdF& dx, const SimdF& dy,
                const SimdF& squared_distance) {
    const SimdF q = reciprocal(squared_distance + SimdF(1.0F));
    const SimdF moment_x = SimdF(cell.moment_xx) * dx + SimdF(cell.moment_xy) * dy;
    const SimdF moment_y = SimdF(cell.moment_xy) * dx + SimdF(cell.moment_yy) * dy;
    const SimdF count(cell.count);
    const SimdF squared = q * q;
    const SimdF quadratic = SimdF(4.0F) * squared * (moment_x * dx + moment_y * dy);
    const SimdF trace = q * SimdF(cell.moment_xx + cell.moment_yy);
    total += q * (count - trace + quadratic);
    const SimdF radial = count - (trace + trace) + SimdF(3.0F) * quadratic;
    const SimdF sideways = SimdF(4.0F) * q;
    force_x += squared * (radial * dx - sideways * moment_x);
    force_y += squared * (radial * dy - sideways * moment_y);
  }

  SimdF force_x{0.0F};
  SimdF force_y{0.0F};
  SimdF total{0.0F};
};

class BarnesHutRepulsion : public Repulsion {
 public:
  BarnesHutRepulsion(double theta, ThreadPool& pool)
      : theta_(static_cast<float>(theta)), pool_(pool), tree_(pool) {}

  double compute(const MatrixD& embedding, MatrixD& force) override {
    tree_.build(embedding);
    const std::int64_t count = embedding.rows();
    const std::int64_t num_groups = (count + kFloatLanes - 1) / kFloatLanes;
    force.resize(count, 2);
    sums_.resize(num_groups);
    pool_.parallel_for((num_groups + kGroupsPerItem - 1) / kGroupsPerItem, [&](std::int64_t item) {
      const std::int64_t last = std::min(num_groups, (item + 1) * kGroupsPerItem);
      for (std::int64_t g = item * kGroupsPerItem; g < last; ++g) sums_[g] = visit(g, force);
    });
    // Each point interacts with itself, at q = 1.
    return sums_.sum() - static_cast<double>(count);
  }

 private:
  /// Walks the tree with kFloatLanes contiguous points, opening a cell if one of them is too near;
  /// returns their part of Z.
  double visit(std::int64_t group, MatrixD& force) const {
    const std::int64_t first = group * kFloatLanes;
    const std::int64_t count = std::min<std::int64_t>(kFloatLanes, tree_.num_points() - first);
    const SimdF x = load(tree_.x().data() + first);
    const SimdF y = load(tree_.y().data() + first);
    Sums sums;
    const auto num_cells = static_cast<std::int32_t>(tree_.cells().size());
    for (std::int32_t at = 0; at < num_cells;) {
      const Quadtree::Cell& cell = tree_.cells()[static_cast<std::size_t>(at)];
      const SimdF dx = x - SimdF(cell.x);
      const SimdF dy = y - SimdF(cell.y);
      const SimdF squared_distance = dx * dx + dy * dy;
      const bool holds_one = cell.begin < first + count && first < cell.end;
      const float reach = cell.width / theta_;
      if (!holds_one && std::experimental::all_of(squared_distance > SimdF(reach * reach))) {
        sums.add_cell(cell, dx, dy, squared_distance);
        at = cell.past;
        continue;
      }
      if (cell.is_leaf) add_points(cell, x, y, sums);
      ++at;
    }
    return store_sums(sums, first, count, force);
  }

  void add_points(const Quadtree::Cell& leaf, const SimdF& x, const SimdF& y, Sums& sums) const {
    for (std::int64_t j = leaf.begin; j < leaf.end; ++j) {
      sums.add_point(x - SimdF(tree_.x()[j]), y - SimdF(tree_.y()[j]));
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
      const std::int32_t point = tree_.point(first + i);
      force(point, 0) = static_cast<double>(lanes[0][i]);
      force(point, 1) = static_cast<double>(lanes[1][i]);
      total += static_cast<double>(lanes[2][i]);
    }
    return total;
  }

  float theta_;
  ThreadPool& pool_;
  Quadtree tree_;
  Eigen::ArrayXd sums_;
};

}  // namespace

std::unique_ptr<Repulsion> make_barnes_hut_repulsion(double theta, ThreadPool& pool) {
  return std::make_unique<BarnesHutRepulsion>(theta, pool);
}

}  // namespace lime::tsne_detail
