// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/simd/register_tile.h"
#include "metrics/probes/panel_matrix.h"

// Inner loops of PanelMatrix: tiles of a product whose sums stay in registers.
namespace lime::probes {

using simd::Vector;
template <typename Scalar>
constexpr int kWidth = static_cast<int>(simd::kLanes<Scalar>);

/// Registers of a strip per tile and operand column in a transposed product.
constexpr int kTileVectors = 3;
constexpr int kStripCols = kTileVectors * kWidth<float>;
/// A tile is 4 x 5 sums in the product, 3 registers x 8 columns in the transposed one: with their
/// operands both fill the 32 registers of AVX-512, and spill slightly on other CPUs.
constexpr int kTileRows = 4;
constexpr int kProductCols = 5;
constexpr int kTransposedCols = kWidth<float> >= 8 ? 8 : 4;
static_assert(kStripCols % kTransposedCols == 0);

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
      for (int r = 0; r < kTileRows; ++r) rows[r] = simd::load_as<Scalar>(x + r * kStripCols + v);
#pragma GCC unroll 8
      for (int c = 0; c < NC; ++c) {
        const V factor = simd::load(u[static_cast<std::size_t>(c)] + offset + v);
#pragma GCC unroll 4
        for (int r = 0; r < kTileRows; ++r) sum[r][c] += rows[r] * factor;
      }
    }
    offset += kStripCols;
  }
  for (int c = 0; c < NC; ++c) {
    for (int r = 0; r < kTileRows; ++r) {
      out.column(first + c)[row + r] = static_cast<double>(simd::sum_of_lanes(sum[r][c]));
    }
  }
}

/// Adds one piece's part of the transposed product to NC columns of `out`.
template <typename Scalar, int NC, bool kSquared>
void add_transposed(const float* x, std::int64_t num_rows, const Columns<Scalar>& in,
                    std::int64_t first, std::int64_t row, Columns<double>& out, std::int64_t col) {
  const std::int64_t stride = in.count() > 1 ? in.column(1) - in.column(0) : 0;
  for (int part = 0; part < kStripCols; part += kTileVectors * kWidth<Scalar>) {
    simd::RegisterTile<Scalar, kTileVectors, NC> sum;
    simd::multiply_add(sum, num_rows, x + part, kStripCols, in.column(first) + row, 1, stride,
                       [](const float* from) {
                         const auto value = simd::load_as<Scalar>(from);
                         return kSquared ? value * value : value;
                       });
    constexpr int kCount = kTileVectors * kWidth<Scalar>;
    alignas(64) Scalar values[NC * kCount];
    sum.visit(values, kCount,
              [](Scalar* at, const Vector<Scalar>& value) { simd::store(at, value); });
    for (int c = 0; c < NC; ++c) {
      double* const to = out.column(first + c) + col + part;
      for (int j = 0; j < kCount; ++j) to[j] += static_cast<double>(values[c * kCount + j]);
    }
  }
}

}  // namespace lime::probes
