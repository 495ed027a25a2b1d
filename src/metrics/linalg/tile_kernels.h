// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/simd/register_tile.h"
#include "metrics/linalg/simd.h"

// The inner loops of all products in this folder.

namespace lime::linalg {

/// A tile of a result: kVectors * kLanes x kTileCols values in registers.
template <int kVectors>
using TileOf = simd::RegisterTile<double, kVectors, kTileCols>;
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

/// Computes tile[c, j] += sum_r a[c, r] v[r, j]: kTileCols columns of a sliver, transposed, times
/// rows.
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
