// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/simd/vector.h"

namespace lime::linalg {

/// A tile of a matrix product in registers: kColumns columns of kVectors vectors, 0 at first.
template <typename T, int kVectors, int kColumns> struct RegisterTile {
  simd::Vector<T> value[kColumns][kVectors] = {};

  /// Calls visit(address, vector) for each vector of a matrix with columns `stride` apart.
  template <typename Element, typename Visit>
  [[gnu::always_inline]] void visit(Element* matrix, std::int64_t stride, const Visit& visit) {
#pragma GCC unroll 12
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        visit(matrix + j * stride + i * simd::kLanes<T>, value[j][i]);
      }
    }
  }
};

/// Computes tile[r, j] += sum_p a[p, r] b[p, j], the inner loop of all packed products (Goto & van
/// de Geijn 2008, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), section 5).
///
/// @param a       [depth, kVectors * kLanes<T>], rows `a_stride` apart; `load` loads its vectors.
/// @param b       [depth, kColumns], rows `b_stride` and columns `b_step` apart.
template <typename T, int kVectors, int kColumns, typename From, typename Load>
[[gnu::always_inline]] inline void multiply_add(RegisterTile<T, kVectors, kColumns>& tile,
                                                std::int64_t depth, const From* a,
                                                std::int64_t a_stride, const T* b,
                                                std::int64_t b_stride, std::int64_t b_step,
                                                const Load& load) {
  RegisterTile<T, kVectors, kColumns> sum = tile;
  for (std::int64_t p = 0; p < depth; ++p) {
    simd::Vector<T> row[kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) row[i] = load(a + i * simd::kLanes<T>);
#pragma GCC unroll 12
    for (int j = 0; j < kColumns; ++j) {
      const simd::Vector<T> factor(b[j * b_step]);
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) sum.value[j][i] += row[i] * factor;
    }
    a += a_stride;
    b += b_stride;
  }
  tile = sum;
}

template <typename T, int kVectors, int kColumns, typename From>
[[gnu::always_inline]] inline void multiply_add(RegisterTile<T, kVectors, kColumns>& tile,
                                                std::int64_t depth, const From* a,
                                                std::int64_t a_stride, const T* b,
                                                std::int64_t b_stride, std::int64_t b_step = 1) {
  multiply_add(tile, depth, a, a_stride, b, b_stride, b_step,
               [](const From* from) { return simd::load_as<T>(from); });
}

}  // namespace lime::linalg
