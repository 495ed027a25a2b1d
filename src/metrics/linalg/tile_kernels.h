// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "metrics/linalg/simd.h"

// The two inner loops of all products in this folder. Both keep one tile of the result in registers
// (Goto & van de Geijn 2008, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3),
// section 5).

namespace lime::linalg {

/// A tile of a result: kVectors * kLanes x kTileCols values in registers.
template <int kVectors>
struct TileOf {
  Simd value[kTileCols][kVectors] = {};
};
using Tile = TileOf<kSliverVectors>;

/// Computes tile[r, j] += sum_p a[p, r] b[p, j]: a sliver times rows of a matrix.
///
/// @param a  [depth, kSliverRows], contiguous; uses the first kVectors * kLanes of its rows.
/// @param b  [depth, kTileCols], rows `b_stride` apart.
template <int kVectors>
[[gnu::always_inline]] inline void multiply_sliver(TileOf<kVectors>& tile, std::int64_t depth,
                                                   const double* a, const double* b,
                                                   std::int64_t b_stride) {
  TileOf<kVectors> sum = tile;
  for (std::int64_t p = 0; p < depth; ++p) {
    Simd column[kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) column[i] = load(a + i * kLanes);
#pragma GCC unroll 8
    for (int j = 0; j < kTileCols; ++j) {
      const Simd factor(b[j]);
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) sum.value[j][i] += column[i] * factor;
    }
    a += kSliverRows;
    b += b_stride;
  }
  tile = sum;
}

/// Computes tile[c, j] += sum_r a[c, r] v[r, j]: kTileCols columns of a sliver, transposed, times
/// rows.
///
/// @param a  [kTileCols, kSliverRows], columns of one sliver, contiguous.
/// @param v  [kSliverRows, kSliverRows], rows `v_stride` apart.
inline void multiply_transposed_sliver(Tile& tile, const double* a, const double* v,
                                       std::int64_t v_stride) {
  Tile sum = tile;
  for (int r = 0; r < kSliverRows; ++r) {
    Simd row[kSliverVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kSliverVectors; ++i) row[i] = load(v + i * kLanes);
#pragma GCC unroll 8
    for (int c = 0; c < kTileCols; ++c) {
      const Simd factor(a[c * kSliverRows]);
#pragma GCC unroll 4
      for (int i = 0; i < kSliverVectors; ++i) sum.value[c][i] += row[i] * factor;
    }
    a += 1;
    v += v_stride;
  }
  tile = sum;
}

/// Loads columns of `tile` from kTileCols lines of kSliverRows values, `stride` apart.
inline void load_tile(Tile& tile, const double* from, std::int64_t stride) {
#pragma GCC unroll 8
  for (int j = 0; j < kTileCols; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kSliverVectors; ++i)
      tile.value[j][i] = load(from + j * stride + i * kLanes);
  }
}

inline void store_tile(const Tile& tile, double* to, std::int64_t stride) {
#pragma GCC unroll 8
  for (int j = 0; j < kTileCols; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kSliverVectors; ++i) store(to + j * stride + i * kLanes, tile.value[j][i]);
  }
}

/// Computes to -= tile.
inline void subtract_tile(const Tile& tile, double* to, std::int64_t stride) {
#pragma GCC unroll 8
  for (int j = 0; j < kTileCols; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kSliverVectors; ++i) {
      double* const place = to + j * stride + i * kLanes;
      store(place, load(place) - tile.value[j][i]);
    }
  }
}

}  // namespace lime::linalg
