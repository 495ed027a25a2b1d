// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"
#include "core/simd/aligned_buffer.h"
#include "linalg/panels.h"

namespace lime {

class ThreadPool;

namespace probes {

/// A few long columns, each contiguous, aligned and padded with zeros: operands of a PanelMatrix.
template <typename Scalar> class Columns {
 public:
  /// Sets the shape and all values to 0.
  void resize(std::int64_t count, std::int64_t length);

  std::int64_t count() const { return count_; }
  std::int64_t length() const { return length_; }
  Scalar* column(std::int64_t index) { return data_ + index * stride_; }
  const Scalar* column(std::int64_t index) const { return data_ + index * stride_; }
  Eigen::Map<Eigen::Array<Scalar, Eigen::Dynamic, 1>> array(std::int64_t index) {
    return {column(index), length_};
  }
  Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>> array(std::int64_t index) const {
    return {column(index), length_};
  }

 private:
  AlignedBuffer<Scalar> buffer_;
  Scalar* data_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t length_ = 0;
  std::int64_t stride_ = 0;
};

/// Rows in float32, packed once for many products with narrow matrices.
///
/// Chunks of 128 rows; a chunk is a sequence of strips as wide as three registers, each with its
/// part of every row. float32 products accumulate in float32 over at most one chunk or row.
/// Bit-identical for any number of threads.
class PanelMatrix {
 public:
  /// Packs x - shift, rounded to float32. @param shift  [dim], or empty for none.
  void pack(const ConstMatrixRef& rows, std::span<const float> shift, ThreadPool& pool);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return packed_.rows(); }
  /// Returns the padded size of operands; the padding must be 0.
  std::int64_t padded_rows() const { return packed_.depth(); }
  std::int64_t padded_cols() const { return num_strips() * linalg::kPanelRows<float>; }

  /// Computes out[k][i] = sum_j x[i, j] in[k][j]. @param in  [count][padded_cols]
  /// @param out  [count][padded_rows], resized.
  template <typename Scalar>
  void multiply(const Columns<Scalar>& in, Columns<double>& out, ThreadPool& pool) const;

  /// Computes out[k][j] = sum_i x[i, j] in[k][i]; if kSquared, of x[i, j]^2.
  /// @param in  [count][padded_rows]. @param out  [count][padded_cols], resized.
  template <bool kSquared = false, typename Scalar>
  void multiply_transposed(const Columns<Scalar>& in, Columns<double>& out, ThreadPool& pool) const;

  /// Computes the lower triangle of X^T X in float32, to within float32's rounding over all rows.
  /// @param out  [cols, >= cols], row-major.
  void gram(Eigen::Ref<MatrixF> out, ThreadPool& pool) const;

 private:
  std::int64_t num_chunks() const { return packed_.num_slabs(); }
  std::int64_t num_strips() const { return packed_.num_panels(); }

  /// X^T: a panel is a strip of features, a slab a chunk of rows.
  linalg::Panels<float> packed_;
  std::int64_t rows_ = 0;
};

}  // namespace probes
}  // namespace lime
