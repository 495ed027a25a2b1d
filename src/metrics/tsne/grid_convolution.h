// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/matrix.h"
#include "core/spin_pool.h"
#include "metrics/tsne/fourier.h"

namespace lime::tsne_detail {

/// A rectangular grid: what the convolution depends on.
struct GridShape {
  double spacing = 0.0;   ///< between neighbouring nodes
  std::int64_t rows = 0;  ///< nodes in use
  std::int64_t cols = 0;

  friend bool operator==(const GridShape&, const GridShape&) = default;
};

/// Convolves charges on a grid with the kernel of t-SNE, without periodic images:
///
///   potential = sum over nodes of charge * (K(r) - offset()),   K(r) = 1 / (1 + r^2)
///
/// in the sense of interpolating B-splines of order 6: charges spread with B-splines, and
/// potentials read off with the same ones, give K exactly where points lie on nodes.
///
/// The constant offset() = K(diagonal of the grid) is left out: it has no gradient, but would cost
/// all digits of float32 where the embedding is small and K nearly constant.
///
/// The grid is real, so that two blocks of columns are transformed as one complex block, and half
/// of the spectrum is enough. Rows and columns that are padding are neither read nor computed.
class GridConvolution {
 public:
  explicit GridConvolution(SpinPool& pool) : pool_(pool) {}

  /// Prepares for a grid of this shape; cheap if it is the one of the last call.
  void set_shape(const GridShape& shape);
  /// Floats from one row of the grid to the next; at least 8 more than there are columns.
  std::int64_t stride() const { return stride_; }
  double offset() const { return offset_; }

  /// Replaces charges by potentials. @param grid  [rows, stride()]; 0 past the last column.
  void convolve(float* grid);

 private:
  std::int64_t num_frequency_blocks() const;
  /// Where the spectrum of a column at one block of frequencies lies.
  std::int64_t spectrum_at(std::int64_t frequency_block, std::int64_t col) const;

  void transform_columns(const float* grid, std::int64_t stride, std::int64_t rows,
                         std::int64_t pair);
  void convolve_rows(std::int64_t frequency_block);
  void restore_columns(float* grid, std::int64_t pair) const;
  void transform_kernel();
  void transform_kernel_rows(std::int64_t frequency_block);

  SpinPool& pool_;
  GridShape shape_;
  std::int64_t stride_ = 0;
  std::int64_t spectrum_cols_ = 0;  // columns that the spectrum has room for
  double offset_ = 0.0;
  std::unique_ptr<LaneFourier> along_column_;
  std::unique_ptr<LaneFourier> along_row_;
  Eigen::ArrayXf spectrum_real_;  // [frequency blocks, columns, kFloatLanes]
  Eigen::ArrayXf spectrum_imag_;
  Eigen::ArrayXf kernel_;  // [frequency blocks, along_row_->length(), kFloatLanes]
};

}  // namespace lime::tsne_detail
