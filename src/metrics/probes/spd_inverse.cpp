// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/spd_inverse.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "core/threads/thread_pool.h"

namespace lime::probes {
namespace {

constexpr Eigen::Index kBlock = 128;

Eigen::Index num_blocks(Eigen::Index size) { return (size + kBlock - 1) / kBlock; }

/// Copies the columns of block `k` of the full matrix, of which the lower triangle is stored.
template <typename Matrix>
void gather_columns(const Matrix& matrix, Eigen::Index start, Eigen::Index width, Matrix& columns) {
  const Eigen::Index below = start + width;
  columns.topRows(start) = matrix.block(start, 0, width, start).transpose();
  columns.middleRows(start, width) =
      matrix.block(start, start, width, width).template selfadjointView<Eigen::Lower>();
  columns.bottomRows(matrix.rows() - below) =
      matrix.block(below, start, matrix.rows() - below, width);
}

}  // namespace

template <typename Matrix>
bool invert_positive_definite(Matrix& matrix, ThreadPool& pool) {
  const Eigen::Index size = matrix.rows();
  const Eigen::Index blocks = num_blocks(size);
  for (Eigen::Index k = 0; k < blocks; ++k) {
    const Eigen::Index start = k * kBlock;
    const Eigen::Index width = std::min(kBlock, size - start);
    Matrix columns(size, width);
    gather_columns(matrix, start, width, columns);
    const Matrix pivot = columns.middleRows(start, width);
    const Eigen::LLT<Matrix> factor(pivot);
    if (factor.info() != Eigen::Success) return false;
    const Matrix pivot_inverse = factor.solve(Matrix::Identity(width, width));
    Matrix scaled(size, width);
    pool.parallel_for(blocks, [&](std::int64_t i) {
      const Eigen::Index height = std::min(kBlock, size - i * kBlock);
      scaled.middleRows(i * kBlock, height).noalias() =
          columns.middleRows(i * kBlock, height) * pivot_inverse;
    });
    // Long rows first: they take the most time.
    pool.parallel_for(blocks, [&](std::int64_t item) {
      const Eigen::Index i = blocks - 1 - item;
      if (i == k) return;
      const Eigen::Index row = i * kBlock;
      const Eigen::Index height = std::min(kBlock, size - row);
      const auto subtract = [&](Eigen::Index first, Eigen::Index count) {
        if (count <= 0) return;
        matrix.block(row, first, height, count).noalias() -=
            scaled.middleRows(row, height) * columns.middleRows(first, count).transpose();
      };
      const Eigen::Index end = row + height;
      subtract(0, std::min(end, start));
      subtract(start + width, end - (start + width));
      if (i > k) matrix.block(row, start, height, width) = scaled.middleRows(row, height);
    });
    matrix.block(start, 0, width, start) = scaled.topRows(start).transpose();
    matrix.block(start, start, width, width) = -pivot_inverse;
  }
  pool.parallel_for(blocks, [&](std::int64_t i) {
    const Eigen::Index row = i * kBlock;
    const Eigen::Index height = std::min(kBlock, size - row);
    matrix.block(row, 0, height, row + height) *= -1;
  });
  pool.parallel_for(blocks, [&](std::int64_t i) {
    const Eigen::Index row = i * kBlock;
    const Eigen::Index height = std::min(kBlock, size - row);
    const Eigen::Index right = size - row;
    matrix.block(row, row, height, right).template triangularView<Eigen::StrictlyUpper>() =
        matrix.block(row, row, right, height)
            .transpose()
            .template triangularView<Eigen::StrictlyUpper>();
  });
  return true;
}

template bool invert_positive_definite(MatrixF&, ThreadPool&);
template bool invert_positive_definite(MatrixD&, ThreadPool&);

}  // namespace lime::probes
