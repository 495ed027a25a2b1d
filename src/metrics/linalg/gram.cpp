// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/gram.h"

#include <algorithm>
#include <cassert>

#include "metrics/linalg/tile_kernels.h"

namespace lime::linalg {
namespace {

/// Columns of the operand that are packed and multiplied at once: a sliver of them is 48 KiB.
constexpr std::int64_t kDepth = 256;
/// Slivers that are multiplied with one tile's rows while these lie in the first-level cache.
constexpr std::int64_t kBlockSlivers = 8;

/// Copies z[first_row + r, first_col + c], r < kSliverRows, c < depth, so that
/// to[c * kSliverRows + r] holds it; rows past the end become 0.
template <typename Scalar>
void pack_rows(const AffineRows<Scalar>& rows, std::int64_t first_row, std::int64_t first_col,
               std::int64_t depth, double* to) {
  const std::int64_t filled = std::min<std::int64_t>(kSliverRows, rows.num_rows - first_row);
  for (std::int64_t c = 0; c < depth; ++c, to += kSliverRows) {
    const std::int64_t col = first_col + c;
    const double shift = rows.shift == nullptr ? 0.0 : rows.shift[col];
    const double scale = rows.column_scale == nullptr ? 1.0 : rows.column_scale[col];
    const Scalar* const x = rows.x + first_row * rows.row_stride + col;
    for (std::int64_t r = 0; r < filled; ++r) {
      to[r] = (static_cast<double>(x[r * rows.row_stride]) - shift) * scale;
    }
    if (rows.row_scale != nullptr) {
      for (std::int64_t r = 0; r < filled; ++r) to[r] *= rows.row_scale[first_row + r];
    }
    std::fill(to + filled, to + kSliverRows, 0.0);
  }
}

/// The same of the transposed matrix: to[p * kSliverRows + i] = z[first_row + p, first_col + i].
template <typename Scalar>
void pack_columns(const AffineRows<Scalar>& rows, std::int64_t first_col, std::int64_t first_row,
                  std::int64_t depth, double* to) {
  const std::int64_t filled = std::min<std::int64_t>(kSliverRows, rows.num_cols - first_col);
  double shift[kSliverRows] = {};
  double scale[kSliverRows];
  std::fill(scale, scale + kSliverRows, 1.0);
  for (std::int64_t i = 0; i < filled; ++i) {
    if (rows.shift != nullptr) shift[i] = rows.shift[first_col + i];
    if (rows.column_scale != nullptr) scale[i] = rows.column_scale[first_col + i];
  }
  for (std::int64_t p = 0; p < depth; ++p, to += kSliverRows) {
    const std::int64_t row = first_row + p;
    const Scalar* const x = rows.x + row * rows.row_stride + first_col;
    const double row_scale = rows.row_scale == nullptr ? 1.0 : rows.row_scale[row];
    for (std::int64_t i = 0; i < filled; ++i) {
      to[i] = (static_cast<double>(x[i]) - shift[i]) * scale[i] * row_scale;
    }
    std::fill(to + filled, to + kSliverRows, 0.0);
  }
}

/// C += P P^T for the lower triangle; `first` overwrites C instead.
void add_outer_product(const SliverMatrix& panel, std::int64_t depth, bool first,
                       SymmetricSlivers& c) {
  const std::int64_t num_slivers = panel.num_slivers();
  constexpr std::int64_t kTileStride = kSliverRows;
  for (std::int64_t block = 0; block < num_slivers; block += kBlockSlivers) {
    const std::int64_t block_end = std::min(block + kBlockSlivers, num_slivers);
    for (std::int64_t j = 0; j < block_end; ++j) {
      for (std::int64_t offset = 0; offset < kSliverRows; offset += kTileCols) {
        for (std::int64_t i = std::max(block, j); i < block_end; ++i) {
          double* const place = c.sliver(i) + (j * kSliverRows + offset) * kSliverRows;
          Tile tile;
          if (!first) load_tile(tile, place, kTileStride);
          multiply_sliver(tile, depth, panel.sliver(i), panel.sliver(j) + offset, kSliverRows);
          store_tile(tile, place, kTileStride);
        }
      }
    }
  }
}

/// Columns [first_col, first_col + depth) of sliver `index` of a symmetric matrix.
void pack_symmetric(const SymmetricSlivers& matrix, std::int64_t index, std::int64_t first_col,
                    std::int64_t depth, double* to) {
  const std::int64_t stored = kSliverRows * (index + 1);
  for (std::int64_t c = 0; c < depth; ++c, to += kSliverRows) {
    const std::int64_t col = first_col + c;
    for (std::int64_t r = 0; r < kSliverRows; ++r) {
      const std::int64_t row = index * kSliverRows + r;
      to[r] = col < stored ? matrix.at(row, col) : matrix.at(col, row);
    }
  }
}

}  // namespace

template <typename Scalar>
void GramBuilder::smaller_gram(const AffineRows<Scalar>& rows, SymmetricSlivers& gram) {
  const bool of_rows = rows.num_rows <= rows.num_cols;
  const std::int64_t size = of_rows ? rows.num_rows : rows.num_cols;
  const std::int64_t total = of_rows ? rows.num_cols : rows.num_rows;
  gram.resize(size);
  for (std::int64_t start = 0; start < total; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, total - start);
    panel_.resize(size, depth);
    for (std::int64_t s = 0; s < panel_.num_slivers(); ++s) {
      if (of_rows) {
        pack_rows(rows, s * kSliverRows, start, depth, panel_.sliver(s));
      } else {
        pack_columns(rows, s * kSliverRows, start, depth, panel_.sliver(s));
      }
    }
    add_outer_product(panel_, depth, start == 0, gram);
  }
}

void GramBuilder::square(const SymmetricSlivers& matrix, SymmetricSlivers& squared) {
  assert(&matrix != &squared);
  squared.resize(matrix.size());
  const std::int64_t total = matrix.padded_size();
  for (std::int64_t start = 0; start < total; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, total - start);
    panel_.resize(matrix.size(), depth);
    for (std::int64_t s = 0; s < panel_.num_slivers(); ++s) {
      pack_symmetric(matrix, s, start, depth, panel_.sliver(s));
    }
    add_outer_product(panel_, depth, start == 0, squared);
  }
}

template void GramBuilder::smaller_gram(const AffineRows<float>&, SymmetricSlivers&);
template void GramBuilder::smaller_gram(const AffineRows<double>&, SymmetricSlivers&);

double trace(const SymmetricSlivers& matrix) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < matrix.size(); ++i) sum += matrix.at(i, i);
  return sum;
}

double inner_product(const SymmetricSlivers& a, const SymmetricSlivers& b) {
  const auto dot = [](const double* x, const double* y, std::int64_t count) {
    Simd sums[kSliverVectors] = {};
    for (std::int64_t i = 0; i < count; i += kSliverRows) {
      for (int v = 0; v < kSliverVectors; ++v) {
        sums[v] += load(x + i + v * kLanes) * load(y + i + v * kLanes);
      }
    }
    double total = 0.0;
    for (const Simd& sum : sums) total += sum_of_lanes(sum);
    return total;
  };
  double below = 0.0;
  double diagonal = 0.0;
  constexpr std::int64_t kBlock = std::int64_t{kSliverRows} * kSliverRows;
  for (std::int64_t s = 0; s < a.num_slivers(); ++s) {
    below += dot(a.sliver(s), b.sliver(s), s * kBlock);
    diagonal += dot(a.sliver(s) + s * kBlock, b.sliver(s) + s * kBlock, kBlock);
  }
  return 2.0 * below + diagonal;
}

void clamp_elements(SymmetricSlivers& matrix) {
  double* const begin = matrix.sliver(0);
  double* const end = matrix.sliver(matrix.num_slivers());
  for (double* value = begin; value != end; ++value) *value = std::max(*value, 0.0);
}

}  // namespace lime::linalg
