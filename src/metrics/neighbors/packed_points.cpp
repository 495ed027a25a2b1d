// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/packed_points.h"

#include <algorithm>
#include <cmath>

#include "core/simd/register_tile.h"

namespace lime::neighbors {
namespace {

/// Columns per partial sum: both slivers stay in the L1 cache, and rounding grows with the number
/// of blocks, not of columns.
constexpr std::int64_t kDepthBlock = 128;
constexpr std::int64_t kMeanBlock = 256;

/// Calls visit(block) for blocks of kMeanBlock rows, in parallel.
template <typename Visit>
void for_row_blocks(std::int64_t rows, ThreadPool& pool, const Visit& visit) {
  pool.parallel_for((rows + kMeanBlock - 1) / kMeanBlock, visit);
}

}  // namespace

Centering centering_of(const ConstMatrixRef& points, ThreadPool& pool) {
  const std::int64_t num_blocks = (points.rows() + kMeanBlock - 1) / kMeanBlock;
  MatrixD sums(num_blocks, points.cols());
  const auto rows_of = [&](std::int64_t block) {
    return points.middleRows(block * kMeanBlock,
                             std::min(kMeanBlock, points.rows() - block * kMeanBlock));
  };
  for_row_blocks(points.rows(), pool, [&](std::int64_t block) {
    sums.row(block).setZero();
    const auto rows = rows_of(block);
    for (Eigen::Index r = 0; r < rows.rows(); ++r) sums.row(block) += rows.row(r).cast<double>();
  });
  Centering centering;
  centering.shift = sums.colwise().sum() / static_cast<double>(points.rows());
  Eigen::ArrayXd largest(num_blocks);
  for_row_blocks(points.rows(), pool, [&](std::int64_t block) {
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
                           ThreadPool& pool)
    : rows_(points.rows()),
      dim_(points.cols()),
      data_(num_slivers() * kSliverRows * dim_),
      squared_norms_(num_slivers() * kSliverRows) {
  pool.parallel_for(num_slivers(), [&](std::int64_t s) {
    float* const sliver = data_.data() + s * kSliverRows * dim_;
    const std::int64_t first = s * kSliverRows;
    for (int r = 0; r < kSliverRows; ++r) {
      const bool exists = first + r < rows_;
      const float* const row = exists ? points.row(first + r).data() : nullptr;
      for (std::int64_t p = 0; p < dim_; ++p) {
        const double value =
            exists ? (static_cast<double>(row[p]) - centering.shift[p]) * centering.scale : 0.0;
        sliver[p * kSliverRows + r] = static_cast<float>(value);
      }
    }
    Eigen::ArrayXf products(kSliverRows * kSliverRows);
    multiply_slivers(sliver, sliver, dim_, products.data());
    for (int r = 0; r < kSliverRows; ++r) squared_norms_[first + r] = products[r * kSliverRows + r];
  });
}

void multiply_slivers(const float* a, const float* b, std::int64_t dim, float* products) {
  std::fill_n(products, kSliverRows * kSliverRows, 0.0F);
  for (std::int64_t p = 0; p < dim; p += kDepthBlock) {
    const std::int64_t depth = std::min(kDepthBlock, dim - p);
    for (int j = 0; j < kSliverRows; j += kTileCols) {
      simd::RegisterTile<float, kSliverVectors, kTileCols> tile;
      simd::multiply_add(tile, depth, a + p * kSliverRows, kSliverRows, b + p * kSliverRows + j,
                         kSliverRows);
      tile.visit(
          products + j * kSliverRows, kSliverRows,
          [](float* at, const simd::Vector<float>& sum) { simd::store(at, simd::load(at) + sum); });
    }
  }
}

}  // namespace lime::neighbors
