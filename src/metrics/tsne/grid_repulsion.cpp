// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "metrics/tsne/grid_convolution.h"
#include "metrics/tsne/repulsion.h"

namespace lime::tsne_detail {
namespace {

/// Distance of the nodes where the embedding is large; the kernel's width is 1.
constexpr double kSpacing = 0.25;
/// A smaller embedding has at least so many nodes along its longer side.
constexpr double kFewestNodes = 40.0;
/// A larger one, of millions of points or about to diverge, is left to the tree.
constexpr double kMostNodes = 3000.0;
constexpr double kTreeTheta = 0.5;
constexpr int kOrder = 6;        // of the B-splines
constexpr int kNodesBefore = 2;  // nodes of a spline's support before the point's own
/// Rows of the grid that one thread fills; at least kOrder, so that every second band is disjoint.
constexpr std::int64_t kBandRows = 8;
constexpr std::int64_t kPointBlock = 1024;

/// Values at kOrder neighbouring nodes, filled up with zeros to a register.
using Lane8 = Eigen::Array<float, 8, 1>;
using Lane8Map = Eigen::Map<Lane8>;
using ConstLane8Map = Eigen::Map<const Lane8>;

/// The B-spline's weights at the nodes around a point, as polynomials in the point's position t
/// in [0, 1) between two nodes: weight_k(t) = sum_d value[d][k] t^d.
struct SplinePolynomials {
  std::array<Lane8, kOrder> value;
  std::array<Lane8, kOrder - 1> slope;
};

/// By M_n(x) = (x M_{n-1}(x) + (n - x) M_{n-1}(x - 1)) / (n - 1), de Boor's recursion on uniform
/// knots (Essmann et al. 1995, eq. 4.1). Node k counts from the left; piece j = kOrder - 1 - k.
SplinePolynomials spline_polynomials() {
  using Polynomial = std::array<double, kOrder>;
  std::array<Polynomial, kOrder + 1> piece{};  // piece[j]: M_n(t + j)
  piece[0][0] = 1.0;
  for (int n = 2; n <= kOrder; ++n) {
    std::array<Polynomial, kOrder + 1> next{};
    for (int j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(j);
      for (std::size_t d = 0; d < static_cast<std::size_t>(n - 1); ++d) {
        const double same = piece[at][d] / (n - 1);
        const double before = j > 0 ? piece[at - 1][d] / (n - 1) : 0.0;
        next[at][d] += j * same + (n - j) * before;
        next[at][d + 1] += same - before;
      }
    }
    piece = next;
  }
  SplinePolynomials polynomials;
  for (std::size_t d = 0; d < kOrder; ++d) {
    polynomials.value[d].setZero();
    for (std::size_t k = 0; k < kOrder; ++k) {
      polynomials.value[d][static_cast<Eigen::Index>(k)] =
          static_cast<float>(piece[kOrder - 1 - k][d]);
    }
    if (d > 0) polynomials.slope[d - 1] = polynomials.value[d] * static_cast<float>(d);
  }
  return polynomials;
}

template <std::size_t kSize>
Lane8 evaluate(const std::array<Lane8, kSize>& polynomial, float t) {
  Lane8 value = polynomial[kSize - 1];
  for (std::size_t d = kSize - 1; d-- > 0;) value = value * t + polynomial[d];
  return value;
}

class GridRepulsion : public Repulsion {
 public:
  explicit GridRepulsion(SpinPool& pool)
      : pool_(pool), convolution_(pool), tree_(make_barnes_hut_repulsion(kTreeTheta, pool)) {}

  double compute(const MatrixD& embedding, MatrixD& force) override {
    if (!place_grid(embedding)) return tree_->compute(embedding, force);
    sort_into_bands(embedding);
    grid_.resize(shape_.rows * convolution_.stride());
    const std::int64_t num_bands = this->num_bands();
    pool_.parallel_for(num_bands, [&](std::int64_t band) { clear(band); });
    for (const std::int64_t parity : {0, 1}) {
      pool_.parallel_for((num_bands - parity + 1) / 2,
                         [&](std::int64_t i) { spread(2 * i + parity); });
    }
    convolution_.convolve(grid_.data());
    force.resize(embedding.rows(), 2);
    return read_off(force);
  }

 private:
  /// A point in units of the grid: its node and how far it is beyond.
  struct Placed {
    std::int32_t row;
    std::int32_t col;
    float down;
    float right;
    std::int32_t point;
  };

  std::int64_t num_bands() const { return (shape_.rows + kBandRows - 1) / kBandRows; }

  /// Chooses the grid for the extent of the embedding. Spacings go down by steps of sqrt(2), so
  /// that the kernel's transform serves many iterations. @return false if it would be too large.
  bool place_grid(const MatrixD& embedding) {
    const std::int64_t num_blocks = (embedding.rows() + kPointBlock - 1) / kPointBlock;
    MatrixD extent(num_blocks, 4);
    pool_.parallel_for(num_blocks, [&](std::int64_t block) {
      const auto points = embedding.middleRows(
          block * kPointBlock, std::min(kPointBlock, embedding.rows() - block * kPointBlock));
      extent.row(block) << points.colwise().minCoeff(), points.colwise().maxCoeff();
    });
    origin_ = extent.leftCols(2).colwise().minCoeff();
    const Eigen::RowVector2d span = extent.rightCols(2).colwise().maxCoeff() - origin_;
    if (span.maxCoeff() > kMostNodes * kSpacing) return false;
    const double wanted = std::max(span.maxCoeff(), 1e-30) / kFewestNodes;
    GridShape shape;
    shape.spacing = kSpacing;
    if (wanted < kSpacing) {
      shape.spacing *= std::exp2(-0.5 * std::ceil(2.0 * std::log2(kSpacing / wanted)));
    }
    const auto nodes = [&](double length) {
      return static_cast<std::int64_t>(length / shape.spacing) + kOrder;
    };
    // A few nodes more than needed, so that growth by less than that changes nothing.
    const auto roomy = [](std::int64_t count) { return (count + 15) / 16 * 16; };
    shape.cols = roomy(nodes(span[0]));
    shape.rows = roomy(nodes(span[1]));
    shape_ = shape;
    convolution_.set_shape(shape);
    return true;
  }

  Placed place(const MatrixD& embedding, std::int64_t point) const {
    const double right = (embedding(point, 0) - origin_[0]) / shape_.spacing + kNodesBefore;
    const double down = (embedding(point, 1) - origin_[1]) / shape_.spacing + kNodesBefore;
    const auto col = static_cast<std::int32_t>(right);
    const auto row = static_cast<std::int32_t>(down);
    return {row, col, static_cast<float>(down - row), static_cast<float>(right - col),
            static_cast<std::int32_t>(point)};
  }

  /// Points ordered by the band of their first row, in each band by number.
  void sort_into_bands(const MatrixD& embedding) {
    const std::int64_t count = embedding.rows();
    const std::int64_t num_blocks = (count + kPointBlock - 1) / kPointBlock;
    const std::int64_t num_bands = this->num_bands();
    unsorted_.resize(static_cast<std::size_t>(count));
    sorted_.resize(static_cast<std::size_t>(count));
    Eigen::Array<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> next(num_blocks,
                                                                                     num_bands);
    pool_.parallel_for(num_blocks, [&](std::int64_t block) {
      next.row(block).setZero();
      const std::int64_t last = std::min(count, (block + 1) * kPointBlock);
      for (std::int64_t i = block * kPointBlock; i < last; ++i) {
        const Placed placed = place(embedding, i);
        unsorted_[static_cast<std::size_t>(i)] = placed;
        ++next(block, band_of(placed));
      }
    });
    band_begin_.assign(static_cast<std::size_t>(num_bands) + 1, count);
    std::int64_t position = 0;
    for (std::int64_t band = 0; band < num_bands; ++band) {
      band_begin_[static_cast<std::size_t>(band)] = position;
      for (std::int64_t block = 0; block < num_blocks; ++block) {
        position += std::exchange(next(block, band), position);
      }
    }
    pool_.parallel_for(num_blocks, [&](std::int64_t block) {
      const std::int64_t last = std::min(count, (block + 1) * kPointBlock);
      for (std::int64_t i = block * kPointBlock; i < last; ++i) {
        const Placed& placed = unsorted_[static_cast<std::size_t>(i)];
        sorted_[static_cast<std::size_t>(next(block, band_of(placed))++)] = placed;
      }
    });
  }

  static std::int64_t band_of(const Placed& placed) {
    return (placed.row - kNodesBefore) / kBandRows;
  }

  void clear(std::int64_t band) {
    const std::int64_t first = band * kBandRows;
    const std::int64_t rows = std::min(kBandRows, shape_.rows - first);
    std::fill_n(grid_.data() + first * convolution_.stride(), rows * convolution_.stride(), 0.0F);
  }

  float* first_node(const Placed& placed) {
    return grid_.data() + (placed.row - kNodesBefore) * convolution_.stride() +
           (placed.col - kNodesBefore);
  }

  void spread(std::int64_t band) {
    const auto at = static_cast<std::size_t>(band);
    for (std::int64_t i = band_begin_[at]; i < band_begin_[at + 1]; ++i) {
      const Placed& placed = sorted_[static_cast<std::size_t>(i)];
      const Lane8 across = evaluate(spline_.value, placed.right);
      const Lane8 along = evaluate(spline_.value, placed.down);
      float* node = first_node(placed);
      for (int r = 0; r < kOrder; ++r, node += convolution_.stride()) {
        Lane8Map(node) += across * along[r];
      }
    }
  }

  /// Potential and gradient of every point; returns the sum of 1 / (1 + d^2) over all pairs.
  double read_off(MatrixD& force) {
    const auto count = static_cast<std::int64_t>(sorted_.size());
    const std::int64_t num_blocks = (count + kPointBlock - 1) / kPointBlock;
    Eigen::ArrayXd potentials(num_blocks);
    // force = -gradient / 2, and a unit of the grid is `spacing` long.
    const double scale = -0.5 / shape_.spacing;
    pool_.parallel_for(num_blocks, [&](std::int64_t block) {
      double sum = 0.0;
      const std::int64_t last = std::min(count, (block + 1) * kPointBlock);
      for (std::int64_t i = block * kPointBlock; i < last; ++i) {
        const Placed& placed = sorted_[static_cast<std::size_t>(i)];
        const Lane8 along = evaluate(spline_.value, placed.down);
        const Lane8 along_slope = evaluate(spline_.slope, placed.down);
        Lane8 column = Lane8::Zero();
        Lane8 column_slope = Lane8::Zero();
        const float* node = first_node(placed);
        for (int r = 0; r < kOrder; ++r, node += convolution_.stride()) {
          const Lane8 values = ConstLane8Map(node);
          column += values * along[r];
          column_slope += values * along_slope[r];
        }
        const Lane8 across = evaluate(spline_.value, placed.right);
        const Lane8 across_slope = evaluate(spline_.slope, placed.right);
        sum += static_cast<double>((column * across).sum());
        force(placed.point, 0) = scale * static_cast<double>((column * across_slope).sum());
        force(placed.point, 1) = scale * static_cast<double>((column_slope * across).sum());
      }
      potentials[block] = sum;
    });
    const auto points = static_cast<double>(count);
    // A point's potential includes its own, 1.
    return potentials.sum() + points * (points * convolution_.offset() - 1.0);
  }

  SpinPool& pool_;
  GridConvolution convolution_;
  std::unique_ptr<Repulsion> tree_;
  const SplinePolynomials spline_ = spline_polynomials();
  GridShape shape_;
  Eigen::RowVector2d origin_;
  Eigen::ArrayXf grid_;
  std::vector<Placed> unsorted_;
  std::vector<Placed> sorted_;
  std::vector<std::int64_t> band_begin_;
};

}  // namespace

std::unique_ptr<Repulsion> make_grid_repulsion(SpinPool& pool) {
  return std::make_unique<GridRepulsion>(pool);
}

}  // namespace lime::tsne_detail
