// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <experimental/simd>

#include "metrics/probes/panel_matrix.h"

// Inner loops of PanelMatrix: tiles of a product whose sums stay in registers.
namespace lime::probes {

template <typename Scalar>
using Vector = std::experimental::native_simd<Scalar>;
template <typename Scalar>
constexpr int kWidth = static_cast<int>(Vector<Scalar>::size());

/// Registers of a strip per tile and operand column in a transposed product.
constexpr int kTileVectors = 3;
constexpr int kStripCols = kTileVectors * kWidth<float>;
/// A tile is 4 x 5 sums in the product, 3 registers x 8 columns in the transposed one: with their
/// operands both fill the 32 registers of AVX-512, and spill slightly on other CPUs.
constexpr int kTileRows = 4;
constexpr int kProductCols = 5;
constexpr int kTransposedCols = kWidth<float> >= 8 ? 8 : 4;
static_assert(kStripCols % kTransposedCols == 0);

/// Loads a register from floats, widened if Scalar is double.
template <typename Scalar>
Vector<Scalar> load(const float* from) {
  return Vector<Scalar>(from, std::experimental::element_aligned);
}
template <typename Scalar>
Vector<Scalar> load_own(const Scalar* from) {
  return Vector<Scalar>(from, std::experimental::element_aligned);
}

/// Multiplies four rows by NC columns over all strips: out[k][row + r] for r < 4.
///
/// @param x  the four rows in the first strip; strips are `strip_stride` floats apart.
template <typename Scalar, int NC>
void multiply_tile(const float* x, std::int64_t strip_stride, std::int64_t num_strips,
                   const Columns<Scalar>& in, std::int64_t first, Columns<double>& out,
                   std::int64_t row) {
  using V = Vector<Scalar>;
  V sum[kTileRows][NC] = {};
  std::array<const Scalar*, NC> u;
  for (int c = 0; c < NC; ++c) u[static_cast<std::size_t>(c)] = in.column(first + c);
  std::int64_t offset = 0;
  for (std::int64_t strip = 0; strip < num_strips; ++strip, x += strip_stride) {
#pragma GCC unroll 6
    for (int v = 0; v < kStripCols; v += kWidth<Scalar>) {
      V rows[kTileRows];
#pragma GCC unroll 4
      for (int r = 0; r < kTileRows; ++r) rows[r] = load<Scalar>(x + r * kStripCols + v);
#pragma GCC unroll 8
      for (int c = 0; c < NC; ++c) {
        const V factor = load_own(u[static_cast<std::size_t>(c)] + offset + v);
#pragma GCC unroll 4
        for (int r = 0; r < kTileRows; ++r) sum[r][c] += rows[r] * factor;
      }
    }
    offset += kStripCols;
  }
  for (int c = 0; c < NC; ++c) {
    for (int r = 0; r < kTileRows; ++r) {
      out.column(first + c)[row + r] = static_cast<double>(std::experimental::reduce(sum[r][c]));
    }
  }
}

/// Computes sums over rows of x[row, 3 registers] * f[c * col_stride + row * row_stride], NC
/// columns at once.
template <typename Scalar, int NC, bool kSquared>
void transposed_tile(const float* x, std::int64_t num_rows, const Scalar* f,
                     std::int64_t col_stride, std::int64_t row_stride,
                     Vector<Scalar> (&sum)[NC][kTileVectors]) {
  using V = Vector<Scalar>;
  V total[NC][kTileVectors] = {};
  for (std::int64_t row = 0; row < num_rows; ++row, x += kStripCols, f += row_stride) {
    V part[kTileVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) {
      part[v] = load<Scalar>(x + v * kWidth<Scalar>);
      if constexpr (kSquared) part[v] *= part[v];
    }
#pragma GCC unroll 8
    for (int c = 0; c < NC; ++c) {
      const V factor(f[c * col_stride]);
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) total[c][v] += part[v] * factor;
    }
  }
  for (int c = 0; c < NC; ++c) {
    for (int v = 0; v < kTileVectors; ++v) sum[c][v] = total[c][v];
  }
}

/// Adds one piece's part of the transposed product to NC columns of `out`.
template <typename Scalar, int NC, bool kSquared>
void add_transposed(const float* x, std::int64_t num_rows, const Columns<Scalar>& in,
                    std::int64_t first, std::int64_t row, Columns<double>& out, std::int64_t col) {
  const std::int64_t stride = in.count() > 1 ? in.column(1) - in.column(0) : 0;
  for (int part = 0; part < kStripCols; part += kTileVectors * kWidth<Scalar>) {
    Vector<Scalar> sum[NC][kTileVectors];
    transposed_tile<Scalar, NC, kSquared>(x + part, num_rows, in.column(first) + row, stride, 1,
                                          sum);
    for (int c = 0; c < NC; ++c) {
      alignas(64) Scalar values[kTileVectors * kWidth<Scalar>];
      for (int v = 0; v < kTileVectors; ++v) {
        sum[c][v].copy_to(values + v * kWidth<Scalar>, std::experimental::element_aligned);
      }
      double* const to = out.column(first + c) + col + part;
      for (int j = 0; j < kTileVectors * kWidth<Scalar>; ++j)
        to[j] += static_cast<double>(values[j]);
    }
  }
}

}  // namespace lime::probes
