// SPDX-License-Identifier: Apache-2.0
#pragma once

// Packed matrices, and the inner loops of all products in this folder.

#include <Eigen/Core>
#include <cstdint>

#include "core/simd/aligned_buffer.h"
#include "core/simd/vector.h"

namespace lime::linalg {

using simd::load;
using simd::store;
using simd::sum_of_lanes;

using Simd = simd::Vector<double>;
inline constexpr std::int64_t kLanes = simd::kLanes<double>;

/// Rows of a sliver and columns of a register tile: the tile's accumulators, one sliver column and
/// one broadcast value fill the register file (32 registers with AVX-512, else 16).
inline constexpr int kSliverVectors = kLanes == 2 ? 2 : 3;
inline constexpr std::int64_t kSliverRows = kSliverVectors * kLanes;
inline constexpr int kTileCols = kLanes >= 8 ? 8 : 4;
static_assert(kSliverRows % kTileCols == 0);

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

  std::int64_t size() const { return size_; }
  std::int64_t num_slivers() const { return slivers_for(size_); }
  std::int64_t padded_size() const { return num_slivers() * kSliverRows; }

  double* sliver(std::int64_t index) { return data_ + sliver_offset(index); }
  const double* sliver(std::int64_t index) const { return data_ + sliver_offset(index); }
  /// Returns all stored values, for operations element by element.
  Eigen::Map<Eigen::ArrayXd> values() { return {data_, sliver_offset(num_slivers())}; }
  Eigen::Map<const Eigen::ArrayXd> values() const { return {data_, sliver_offset(num_slivers())}; }

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

/// A tile of a result: kVectors * kLanes x kTileCols values in registers.
template <int kVectors> using TileOf = simd::RegisterTile<double, kVectors, kTileCols>;
using Tile = TileOf<kSliverVectors>;

/// Computes tile[r, j] += sum_p a[p, r] b[p, j]: a sliver times rows of a matrix.
///
/// @param a  [depth, kSliverRows], contiguous; uses the first kVectors * kLanes of its rows.
/// @param b  [depth, kTileCols], rows `b_stride` apart.
template <int kVectors>
[[gnu::always_inline]] inline void multiply_sliver(TileOf<kVectors>& tile, std::int64_t depth,
                                                   const double* a, const double* b,
                                                   std::int64_t b_stride) {
  simd::multiply_add(tile, depth, a, kSliverRows, b, b_stride);
}

/// Computes tile[c, j] += sum_r a[c, r] v[r, j]: columns of a sliver, transposed, times rows.
///
/// @param a  [kTileCols, kSliverRows], columns of one sliver, contiguous.
/// @param v  [kSliverRows, kSliverRows], rows `v_stride` apart.
inline void multiply_transposed_sliver(Tile& tile, const double* a, const double* v,
                                       std::int64_t v_stride) {
  simd::multiply_add(tile, kSliverRows, v, v_stride, a, 1, kSliverRows);
}

/// Loads columns of `tile` from kTileCols lines of kSliverRows values, `stride` apart.
inline void load_tile(Tile& tile, const double* from, std::int64_t stride) {
  tile.visit(from, stride, [](const double* at, Simd& value) { value = load(at); });
}

inline void store_tile(Tile& tile, double* to, std::int64_t stride) {
  tile.visit(to, stride, [](double* at, const Simd& value) { store(at, value); });
}

/// Computes to -= tile.
inline void subtract_tile(Tile& tile, double* to, std::int64_t stride) {
  tile.visit(to, stride, [](double* at, const Simd& value) { store(at, load(at) - value); });
}

}  // namespace lime::linalg
