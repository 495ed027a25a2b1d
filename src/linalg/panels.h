// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/simd/aligned_buffer.h"
#include "core/simd/vector.h"

namespace lime::linalg {

/// Registers of a panel's rows, and columns of a register tile: the tile's sums, one column of a
/// panel and one broadcast value fill the register file (32 registers with AVX-512, else 16).
template <typename T> inline constexpr int kPanelVectors = simd::kLanes<T> == 2 ? 2 : 3;
template <typename T> inline constexpr int kTileColumns = sizeof(simd::Vector<T>) >= 64 ? 8 : 4;

/// Rows of a panel.
template <typename T> inline constexpr std::int64_t kPanelRows = kPanelVectors<T>* simd::kLanes<T>;
static_assert(kPanelRows<float> % kTileColumns<float> == 0);
static_assert(kPanelRows<double> % kTileColumns<double> == 0);

/// Returns the number of panels for `rows` rows; the last one may be partly empty.
template <typename T> std::int64_t panels_for(std::int64_t rows) {
  return (rows + kPanelRows<T> - 1) / kPanelRows<T>;
}

/// Columns [first, first + depth) of a packed matrix.
template <typename T> struct Slab {
  const T* data = nullptr;
  std::int64_t depth = 0;
  std::int64_t stride = 0;  ///< elements between adjacent panels

  const T* panel(std::int64_t index) const { return data + index * stride; }
};

/// A matrix [rows, depth] as the inner loop of a product reads it: panels of kPanelRows rows, each
/// column by column. The columns may be divided into slabs, which are stored one after another:
/// element (r, p) of slab s is in its panel r / kPanelRows, at offset p * kPanelRows + r %
/// kPanelRows. The rows that fill the last panel are part of the memory; packing sets them to zero.
template <typename T> class Panels {
 public:
  /// Sets the shape; the contents are then undefined.
  /// @param slab_depth  columns per slab, of which the last one may have fewer; 0: one slab.
  void resize(std::int64_t rows, std::int64_t depth, std::int64_t slab_depth = 0) {
    rows_ = rows;
    depth_ = depth;
    slab_depth_ = slab_depth == 0 ? std::max<std::int64_t>(depth, 1) : slab_depth;
    data_ = buffer_.resize(static_cast<std::size_t>(num_panels() * kPanelRows<T> * depth));
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t depth() const { return depth_; }
  std::int64_t num_panels() const { return panels_for<T>(rows_); }
  std::int64_t num_slabs() const { return (depth_ + slab_depth_ - 1) / slab_depth_; }
  /// Returns the first column of a slab.
  std::int64_t first_of(std::int64_t slab) const { return slab * slab_depth_; }
  std::int64_t depth_of(std::int64_t slab) const {
    return std::min(slab_depth_, depth_ - first_of(slab));
  }

  T* panel(std::int64_t slab, std::int64_t index) { return data_ + offset(slab, index); }
  const T* panel(std::int64_t slab, std::int64_t index) const {
    return data_ + offset(slab, index);
  }
  Slab<T> slab(std::int64_t index) const {
    return {panel(index, 0), depth_of(index), depth_of(index) * kPanelRows<T>};
  }
  /// Returns some columns of a matrix of one slab.
  Slab<T> columns(std::int64_t first, std::int64_t depth) const {
    return {data_ + first * kPanelRows<T>, depth, depth_ * kPanelRows<T>};
  }

 private:
  std::int64_t offset(std::int64_t slab, std::int64_t index) const {
    return (first_of(slab) * num_panels() + index * depth_of(slab)) * kPanelRows<T>;
  }

  AlignedBuffer<T> buffer_;
  T* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t depth_ = 0;
  std::int64_t slab_depth_ = 1;
};

/// Packs a panel: to[p * kPanelRows + r] = at(r, p) for r < rows and p < depth; later rows are 0.
/// Blocks of columns keep both the source, read along its rows, and the panel in cache.
template <typename T, typename At>
void pack_panel(T* to, std::int64_t rows, std::int64_t depth, const At& at) {
  if (rows < kPanelRows<T>) std::fill_n(to, depth * kPanelRows<T>, T{0});
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t first = 0; first < depth; first += kBlock) {
    const std::int64_t last = std::min(first + kBlock, depth);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t p = first; p < last; ++p) to[p * kPanelRows<T> + r] = at(r, p);
    }
  }
}

/// Packs a panel from memory: at(r, p) = from[r * row_step + p * column_step].
template <typename T>
void pack_panel(T* to, std::int64_t rows, std::int64_t depth, const T* from, std::int64_t row_step,
                std::int64_t column_step);

}  // namespace lime::linalg
