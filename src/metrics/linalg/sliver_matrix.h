// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/simd/aligned_buffer.h"
#include "metrics/linalg/simd.h"

namespace lime::linalg {

/// Returns the number of slivers for `rows` rows; the last one may be partly empty.
inline std::int64_t slivers_for(std::int64_t rows) {
  return (rows + kSliverRows - 1) / kSliverRows;
}

/// A matrix stored as horizontal slivers of kSliverRows rows, each column by column: element (r, p)
/// is in sliver r / kSliverRows, at offset p * kSliverRows + r % kSliverRows. The inner loops read
/// it in this order. Rows beyond the last one are zero.
class SliverMatrix {
 public:
  void resize(std::int64_t rows, std::int64_t cols) {
    rows_ = rows;
    cols_ = cols;
    data_ = buffer_.resize(static_cast<std::size_t>(num_slivers() * kSliverRows * cols));
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t num_slivers() const { return slivers_for(rows_); }

  double* sliver(std::int64_t index) { return data_ + index * kSliverRows * cols_; }
  const double* sliver(std::int64_t index) const { return data_ + index * kSliverRows * cols_; }

 private:
  AlignedBuffer<double> buffer_;
  double* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
};

/// The lower triangle of a symmetric matrix in slivers: sliver s contains columns [0, kSliverRows *
/// (s + 1)) of its rows, so that the blocks on the diagonal are stored whole. Rows and columns from
/// size() up to padded_size() are zero. Half the memory of the full matrix.
class SymmetricSlivers {
 public:
  /// Resizes; all contents are then undefined, also beyond size().
  void resize(std::int64_t size) {
    size_ = size;
    data_ = buffer_.resize(static_cast<std::size_t>(sliver_offset(num_slivers())));
  }
  void set_zero() { std::fill_n(data_, sliver_offset(num_slivers()), 0.0); }

  std::int64_t size() const { return size_; }
  std::int64_t num_slivers() const { return slivers_for(size_); }
  std::int64_t padded_size() const { return num_slivers() * kSliverRows; }

  double* sliver(std::int64_t index) { return data_ + sliver_offset(index); }
  const double* sliver(std::int64_t index) const { return data_ + sliver_offset(index); }

  /// Returns element (row, col) with col < kSliverRows * (row / kSliverRows + 1).
  double& at(std::int64_t row, std::int64_t col) {
    return sliver(row / kSliverRows)[col * kSliverRows + row % kSliverRows];
  }
  double at(std::int64_t row, std::int64_t col) const {
    return sliver(row / kSliverRows)[col * kSliverRows + row % kSliverRows];
  }

 private:
  static std::int64_t sliver_offset(std::int64_t index) {
    return kSliverRows * kSliverRows * (index * (index + 1) / 2);
  }

  AlignedBuffer<double> buffer_;
  double* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace lime::linalg
