// SPDX-License-Identifier: Apache-2.0
#include "linalg/packed_product.h"

#include "linalg/register_tile.h"

namespace lime::linalg {
namespace {

using simd::kLanes;
using simd::Vector;

/// Computes a tile of kVectors registers by kTileColumns columns.
template <int kVectors, typename T>
void multiply_tile(const T* a, const T* b, std::int64_t depth, T* c, std::int64_t stride,
                   bool accumulate) {
  RegisterTile<T, kVectors, kTileColumns<T>> tile;
  // C may be too large for the caches.
  tile.visit(c, stride, [](const T* at, const Vector<T>&) { __builtin_prefetch(at, 1); });
  multiply_add(tile, depth, a, kPanelRows<T>, b, kPanelRows<T>);
  tile.visit(c, stride, [accumulate](T* at, const Vector<T>& value) {
    simd::store(at, accumulate ? simd::load(at) + value : value);
  });
}

/// Selects the instance for `vectors` registers, at least one.
template <typename T, int kVectors = kPanelVectors<T>>
void multiply_vectors(std::int64_t vectors, const T* a, const T* b, std::int64_t depth, T* c,
                      std::int64_t stride, bool accumulate) {
  if constexpr (kVectors > 1) {
    if (vectors < kVectors) {
      return multiply_vectors<T, kVectors - 1>(vectors, a, b, depth, c, stride, accumulate);
    }
  }
  multiply_tile<kVectors>(a, b, depth, c, stride, accumulate);
}

/// Computes a tile that extends beyond the block.
template <typename T>
void multiply_edge(std::int64_t rows, std::int64_t columns, const T* a, const T* b,
                   std::int64_t depth, T* c, std::int64_t stride, bool accumulate) {
  alignas(64) T tile[kPanelRows<T> * kTileColumns<T>];
  const std::int64_t vectors = (rows + kLanes<T> - 1) / kLanes<T>;
  multiply_vectors(vectors, a, b, depth, tile, kPanelRows<T>, false);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t r = 0; r < rows; ++r) {
      T& to = c[j * stride + r];
      const T value = tile[j * kPanelRows<T> + r];
      to = accumulate ? to + value : value;
    }
  }
}

}  // namespace

template <typename T>
void multiply_panels(const T* a, const T* b, std::int64_t depth, const ProductBlock<T>& block,
                     Accumulate accumulate, Triangle triangle) {
  const bool adds = accumulate == Accumulate::kYes;
  for (std::int64_t j = 0; j < block.columns; j += kTileColumns<T>) {
    // Registers above the diagonal are skipped.
    const std::int64_t first = triangle == Triangle::kLower ? j / kLanes<T> * kLanes<T> : 0;
    if (first >= block.rows) break;
    const std::int64_t rows = block.rows - first;
    const std::int64_t columns = std::min<std::int64_t>(kTileColumns<T>, block.columns - j);
    T* const c = block.data + j * block.stride + first;
    if (rows % kLanes<T> == 0 && columns == kTileColumns<T>) {
      multiply_vectors(rows / kLanes<T>, a + first, b + j, depth, c, block.stride, adds);
    } else {
      multiply_edge(rows, columns, a + first, b + j, depth, c, block.stride, adds);
    }
  }
}

template void multiply_panels(const float*, const float*, std::int64_t, const ProductBlock<float>&,
                              Accumulate, Triangle);
template void multiply_panels(const double*, const double*, std::int64_t,
                              const ProductBlock<double>&, Accumulate, Triangle);

}  // namespace lime::linalg
