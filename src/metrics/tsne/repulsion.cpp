// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/repulsion.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "metrics/rows.h"
#include "metrics/tsne/float_lanes.h"

namespace lime::tsne_detail {
namespace {

/// Points up to which all pairs take at most 0.1 ms longer than the tree (docs/benchmarks.md).
constexpr Eigen::Index kMaxExactPoints = 1000;

/// Registers of points that are compared with one other point at a time.
constexpr int kVectors = 4;
/// Number of other points after which float sums are added to double ones.
constexpr std::int64_t kSumBlock = 512;

template <typename Scalar> class ExactRepulsion : public Repulsion {
 public:
  explicit ExactRepulsion(ThreadPool& pool) : pool_(pool) {}

  double compute(const MatrixD& embedding, MatrixD& force) override {
    const std::int64_t count = embedding.rows();
    const std::int64_t num_groups = (count + kGroup - 1) / kGroup;
    x_.setZero(num_groups * kGroup);
    y_.setZero(num_groups * kGroup);
    x_.head(count) = embedding.col(0).array().template cast<Scalar>();
    y_.head(count) = embedding.col(1).array().template cast<Scalar>();
    force.resize(count, 2);
    sums_.resize(count);
    pool_.parallel_for(num_groups,
                       [&](std::int64_t group) { compute_group(group * kGroup, count, force); });
    // Each point interacts with itself, at q = 1.
    return sums_.sum() - static_cast<double>(count);
  }

 private:
  using Simd = simd::Vector<Scalar>;
  static constexpr int kLanes = static_cast<int>(Simd::size());
  static constexpr int kGroup = kVectors * kLanes;

  void compute_group(std::int64_t first, std::int64_t count, MatrixD& force) {
    double total[3][kGroup] = {};
    for (std::int64_t j = 0; j < count; j += kSumBlock) {
      add_block(first, j, std::min(count, j + kSumBlock), total);
    }
    const std::int64_t in_group = std::min<std::int64_t>(kGroup, count - first);
    for (std::int64_t i = 0; i < in_group; ++i) {
      force(first + i, 0) = total[0][i];
      force(first + i, 1) = total[1][i];
      sums_[first + i] = total[2][i];
    }
  }

  void add_block(std::int64_t first, std::int64_t begin, std::int64_t end,
                 double (&total)[3][kGroup]) const {
    Simd x[kVectors];
    Simd y[kVectors];
    Simd force_x[kVectors] = {};
    Simd force_y[kVectors] = {};
    Simd sum[kVectors] = {};
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      x[v] = load(x_.data() + first + v * kLanes);
      y[v] = load(y_.data() + first + v * kLanes);
    }
    for (std::int64_t j = begin; j < end; ++j) {
      const Simd other_x(x_[j]);
      const Simd other_y(y_[j]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Simd dx = x[v] - other_x;
        const Simd dy = y[v] - other_y;
        const Simd q = reciprocal(dy * dy + (dx * dx + Simd(Scalar{1})));
        const Simd squared = q * q;
        sum[v] += q;
        force_x[v] += squared * dx;
        force_y[v] += squared * dy;
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      add_lanes(force_x[v], total[0] + v * kLanes);
      add_lanes(force_y[v], total[1] + v * kLanes);
      add_lanes(sum[v], total[2] + v * kLanes);
    }
  }

  static void add_lanes(const Simd& value, double* to) {
    Scalar lanes[kLanes];
    store(lanes, value);
    for (int lane = 0; lane < kLanes; ++lane) to[lane] += static_cast<double>(lanes[lane]);
  }

  ThreadPool& pool_;
  Eigen::Array<Scalar, Eigen::Dynamic, 1> x_;
  Eigen::Array<Scalar, Eigen::Dynamic, 1> y_;
  Eigen::ArrayXd sums_;
};

/// Maximum points per leaf, unless they share a cell of the finest level.
constexpr std::int64_t kLeafPoints = 16;
/// Levels of the tree; a cell of the finest level has 1 / 65536 of the embedding's width.
constexpr int kLevels = 16;
constexpr std::int64_t kPointBlock = 4096;

/// Interleaves the bits of x and y, y's above x's (Morton 1966).
std::uint32_t interleave(std::uint32_t x, std::uint32_t y) {
  const auto spread = [](std::uint32_t v) {
    v = (v | (v << 8)) & 0x00FF00FFU;
    v = (v | (v << 4)) & 0x0F0F0F0FU;
    v = (v | (v << 2)) & 0x33333333U;
    return (v | (v << 1)) & 0x55555555U;
  };
  return spread(x) | (spread(y) << 1);
}

/// A flat quadtree over points of the plane, with the moments of each cell.
///
/// Points are sorted along the Morton curve, so that those of a cell, and those of a register, are
/// contiguous. Bit-identical for any number of threads.
class Quadtree {
 public:
  /// Cells are stored in depth-first order, so that a walk needs no stack: it goes to the next
  /// cell, or past the descendants of the current one.
  struct Cell {
    float x;  ///< centre of mass
    float y;
    float count;
    float width;
    float moment_xx;  ///< sum over the points of (x_j - x)^2, etc.
    float moment_xy;
    float moment_yy;
    std::int32_t begin;  ///< first of its points, in sorted order
    std::int32_t end;
    std::int32_t past;  ///< the first cell that is not a descendant
    bool is_leaf;
  };

  explicit Quadtree(ThreadPool& pool) : pool_(pool) {}

  /// Rebuilds the tree. @param embedding  [num_points, 2], finite, not empty.
  void build(const MatrixD& embedding);

  const std::vector<Cell>& cells() const { return cells_; }
  std::int64_t num_points() const { return std::ssize(keys_); }
  /// Returns the index of the point at a position of the sorted order.
  std::int32_t point(std::int64_t place) const {
    return keys_[static_cast<std::size_t>(place)].point;
  }
  /// Coordinates in sorted order; padded to whole registers with copies of the last point.
  const Eigen::ArrayXf& x() const { return x_; }
  const Eigen::ArrayXf& y() const { return y_; }

 private:
  struct Key {
    std::uint32_t code;
    std::int32_t point;
  };
  /// Prefix sums over the sorted points, relative to the lower corner of all points.
  struct Sums {
    double x = 0.0;
    double y = 0.0;
    double xx = 0.0;
    double xy = 0.0;
    double yy = 0.0;
  };

  void sort_points(const MatrixD& embedding);
  void radix_sort();
  void gather_points(const MatrixD& embedding);
  void add_cell(std::int32_t begin, std::int32_t end, int level);
  Cell make_cell(std::int32_t begin, std::int32_t end, int level) const;

  ThreadPool& pool_;
  Eigen::RowVector2d corner_;  // lower corner of the square that contains all points
  double width_ = 0.0;         // of that square
  std::vector<Key> keys_;
  std::vector<Key> scratch_;
  Eigen::ArrayXf x_;
  Eigen::ArrayXf y_;
  std::vector<Sums> before_;
  std::vector<Cell> cells_;
};

void Quadtree::build(const MatrixD& embedding) {
  sort_points(embedding);
  gather_points(embedding);
  cells_.clear();
  add_cell(0, static_cast<std::int32_t>(keys_.size()), 0);
}

void Quadtree::sort_points(const MatrixD& embedding) {
  const std::int64_t count = embedding.rows();
  corner_ = embedding.colwise().minCoeff();
  const Eigen::RowVector2d span = embedding.colwise().maxCoeff() - corner_;
  width_ = std::max(span.maxCoeff(), std::numeric_limits<double>::min()) * (1.0 + 1e-9);
  const double scale = std::exp2(kLevels) / width_;
  keys_.resize(static_cast<std::size_t>(count));
  for_blocks(count, kPointBlock, pool_, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto x = static_cast<std::uint32_t>((embedding(i, 0) - corner_[0]) * scale);
      const auto y = static_cast<std::uint32_t>((embedding(i, 1) - corner_[1]) * scale);
      keys_[static_cast<std::size_t>(i)] = {interleave(x, y), static_cast<std::int32_t>(i)};
    }
  });
  radix_sort();
}

/// Sorts keys by code; ties keep the order of the points.
void Quadtree::radix_sort() {
  constexpr int kBits = 11;
  scratch_.resize(keys_.size());
  for (int shift = 0; shift < 2 * kLevels; shift += kBits) {
    std::array<std::uint32_t, (1U << kBits) + 1> next{};
    const auto digit = [&](const Key& key) { return (key.code >> shift) & ((1U << kBits) - 1); };
    for (const Key& key : keys_) ++next[digit(key) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const Key& key : keys_) scratch_[next[digit(key)]++] = key;
    keys_.swap(scratch_);
  }
}

void Quadtree::gather_points(const MatrixD& embedding) {
  const std::int64_t count = embedding.rows();
  const std::int64_t padded = (count + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
  x_.resize(padded);
  y_.resize(padded);
  before_.assign(1, Sums{});
  Sums sums;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = embedding(point(i), 0);
    const double y = embedding(point(i), 1);
    x_[i] = static_cast<float>(x);
    y_[i] = static_cast<float>(y);
    const double right = x - corner_[0];
    const double up = y - corner_[1];
    sums.x += right;
    sums.y += up;
    sums.xx += right * right;
    sums.xy += right * up;
    sums.yy += up * up;
    before_.push_back(sums);
  }
  x_.tail(padded - count).setConstant(x_[count - 1]);
  y_.tail(padded - count).setConstant(y_[count - 1]);
}

/// Adds the cell of the sorted points [begin, end), which agree in 2 `level` bits, and its parts.
void Quadtree::add_cell(std::int32_t begin, std::int32_t end, int level) {
  const std::size_t at = cells_.size();
  cells_.push_back(make_cell(begin, end, level));
  if (!cells_[at].is_leaf) {
    const int shift = 2 * (kLevels - 1 - level);
    const auto key = keys_.begin();
    std::int32_t from = begin;
    for (std::uint32_t quadrant = 0; quadrant < 4; ++quadrant) {
      const auto beyond = std::partition_point(key + from, key + end, [&](const Key& of_point) {
        return ((of_point.code >> shift) & 3U) <= quadrant;
      });
      const auto to = static_cast<std::int32_t>(beyond - key);
      if (to > from) add_cell(from, to, level + 1);
      from = to;
    }
  }
  cells_[at].past = static_cast<std::int32_t>(cells_.size());
}

Quadtree::Cell Quadtree::make_cell(std::int32_t begin, std::int32_t end, int level) const {
  const Sums& first = before_[static_cast<std::size_t>(begin)];
  const Sums& last = before_[static_cast<std::size_t>(end)];
  const double count = end - begin;
  const double x = (last.x - first.x) / count;
  const double y = (last.y - first.y) / count;
  Cell cell;
  cell.x = static_cast<float>(corner_[0] + x);
  cell.y = static_cast<float>(corner_[1] + y);
  cell.count = static_cast<float>(count);
  cell.width = static_cast<float>(width_ * std::exp2(-level));
  cell.moment_xx = static_cast<float>(last.xx - first.xx - count * x * x);
  cell.moment_xy = static_cast<float>(last.xy - first.xy - count * x * y);
  cell.moment_yy = static_cast<float>(last.yy - first.yy - count * y * y);
  cell.begin = begin;
  cell.end = end;
  cell.is_leaf = end - begin <= kLeafPoints || level == kLevels;
  return cell;
}

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
    for_blocks(num_groups, kGroupsPerItem, pool_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t g = first; g < last; ++g) sums_[g] = visit(g, force);
    });
    // Each point interacts with itself, at q = 1.
    return sums_.sum() - static_cast<double>(count);
  }

 private:
  /// Walks the tree with kFloatLanes points, opening cells near one; returns their part of Z.
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

TsneRepulsion chosen_repulsion(const TsneOptions& options, Eigen::Index num_points) {
  if (options.theta == 0.0) return TsneRepulsion::kExact;
  if (options.repulsion != TsneRepulsion::kAuto) return options.repulsion;
  return num_points <= kMaxExactPoints ? TsneRepulsion::kExact : TsneRepulsion::kBarnesHut;
}

std::unique_ptr<Repulsion> make_repulsion(const TsneOptions& options, Eigen::Index num_points,
                                          ThreadPool& pool) {
  if (options.theta == 0.0) return std::make_unique<ExactRepulsion<double>>(pool);
  if (chosen_repulsion(options, num_points) == TsneRepulsion::kExact) {
    return std::make_unique<ExactRepulsion<float>>(pool);
  }
  return std::make_unique<BarnesHutRepulsion>(options.theta, pool);
}

}  // namespace lime::tsne_detail
