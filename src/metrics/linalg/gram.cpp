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

/// kLanes values of one row from column `col` on, mapped except for the scale of the row.
template <typename Scalar>
Simd load_affine(const AffineRows<Scalar>& rows, std::int64_t row, std::int64_t col) {
  Simd z(rows.x + row * rows.row_stride + col, std::experimental::element_aligned);
  if (rows.shift != nullptr) z -= load(rows.shift + col);
  if (rows.column_scale != nullptr) z *= load(rows.column_scale + col);
  return z;
}

/// to[c * kSliverRows + r] = z[first_row + r, first_col + c] for c < depth; rows past the end
/// become 0.
template <typename Scalar>
void pack_rows(const AffineRows<Scalar>& rows, std::int64_t first_row, std::int64_t first_col,
               std::int64_t depth, double* to) {
  const std::int64_t filled = std::min<std::int64_t>(kSliverRows, rows.num_rows - first_row);
  if (filled < kSliverRows) std::fill(to, to + depth * kSliverRows, 0.0);
  const std::int64_t whole = depth / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole; c += kLanes) {
    alignas(64) double block[kSliverRows][kLanes];
    for (std::int64_t r = 0; r < filled; ++r) {
      const std::int64_t row = first_row + r;
      const Simd z = load_affine(rows, row, first_col + c);
      store(block[r], rows.row_scale == nullptr ? z : z * Simd(rows.row_scale[row]));
    }
    for (std::int64_t i = 0; i < kLanes; ++i) {
      double* const column = to + (c + i) * kSliverRows;
      for (std::int64_t r = 0; r < filled; ++r) column[r] = block[r][i];
    }
  }
  for (std::int64_t c = whole; c < depth; ++c) {
    for (std::int64_t r = 0; r < filled; ++r) {
      to[c * kSliverRows + r] = rows.at(first_row + r, first_col + c);
    }
  }
}

/// The same of the transposed matrix: to[p * kSliverRows + i] = z[first_row + p, first_col + i].
template <typename Scalar>
void pack_columns(const AffineRows<Scalar>& rows, std::int64_t first_col, std::int64_t first_row,
                  std::int64_t depth, double* to) {
  const std::int64_t filled = std::min<std::int64_t>(kSliverRows, rows.num_cols - first_col);
  for (std::int64_t p = 0; p < depth; ++p, to += kSliverRows) {
    const std::int64_t row = first_row + p;
    if (filled == kSliverRows) {
      const Simd row_scale(rows.row_scale == nullptr ? 1.0 : rows.row_scale[row]);
      for (int i = 0; i < kSliverRows; i += kLanes) {
        store(to + i, load_affine(rows, row, first_col + i) * row_scale);
      }
    } else {
      for (std::int64_t i = 0; i < filled; ++i) to[i] = rows.at(row, first_col + i);
      std::fill(to + filled, to + kSliverRows, 0.0);
    }
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

/// All columns of the rows [start, start + depth).
template <typename Scalar>
void pack_all_columns(const AffineRows<Scalar>& rows, std::int64_t start, std::int64_t depth,
                      SliverMatrix& panel) {
  panel.resize(rows.num_cols, depth);
  for (std::int64_t s = 0; s < panel.num_slivers(); ++s) {
    pack_columns(rows, s * kSliverRows, start, depth, panel.sliver(s));
  }
}

/// C += A B^T of panels, C [rows of A, rows of B padded to whole slivers].
void add_product(const SliverMatrix& a, const SliverMatrix& b, std::int64_t depth,
                 SliverMatrix& c) {
  for (std::int64_t block = 0; block < a.num_slivers(); block += kBlockSlivers) {
    const std::int64_t block_end = std::min(block + kBlockSlivers, a.num_slivers());
    for (std::int64_t j = 0; j < b.num_slivers(); ++j) {
      for (std::int64_t offset = 0; offset < kSliverRows; offset += kTileCols) {
        for (std::int64_t i = block; i < block_end; ++i) {
          double* const place = c.sliver(i) + (j * kSliverRows + offset) * kSliverRows;
          Tile tile;
          load_tile(tile, place, kSliverRows);
          multiply_sliver(tile, depth, a.sliver(i), b.sliver(j) + offset, kSliverRows);
          store_tile(tile, place, kSliverRows);
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

template <typename Scalar>
void GramBuilder::add_feature_gram(const AffineRows<Scalar>& rows, SymmetricSlivers& gram) {
  assert(gram.size() == rows.num_cols);
  for (std::int64_t start = 0; start < rows.num_rows; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, rows.num_rows - start);
    pack_all_columns(rows, start, depth, panel_);
    add_outer_product(panel_, depth, false, gram);
  }
}

template <typename Scalar>
void GramBuilder::cross_gram(const AffineRows<Scalar>& x, const AffineRows<Scalar>& y,
                             SliverMatrix& product) {
  assert(x.num_rows == y.num_rows);
  product.resize(x.num_cols, slivers_for(y.num_cols) * kSliverRows);
  std::fill(product.sliver(0), product.sliver(product.num_slivers()), 0.0);
  for (std::int64_t start = 0; start < x.num_rows; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, x.num_rows - start);
    pack_all_columns(x, start, depth, panel_);
    pack_all_columns(y, start, depth, other_panel_);
    add_product(panel_, other_panel_, depth, product);
  }
}

void GramBuilder::outer_gram(const SliverMatrix& matrix, SymmetricSlivers& gram) {
  gram.resize(matrix.rows());
  add_outer_product(matrix, matrix.cols(), true, gram);
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
template void GramBuilder::add_feature_gram(const AffineRows<float>&, SymmetricSlivers&);
template void GramBuilder::add_feature_gram(const AffineRows<double>&, SymmetricSlivers&);
template void GramBuilder::cross_gram(const AffineRows<float>&, const AffineRows<float>&,
                                      SliverMatrix&);
template void GramBuilder::cross_gram(const AffineRows<double>&, const AffineRows<double>&,
                                      SliverMatrix&);

double trace(const SymmetricSlivers& matrix) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < matrix.size(); ++i) sum += matrix.at(i, i);
  return sum;
}

double squared_norm(const SliverMatrix& matrix) {
  Simd sums[kSliverVectors] = {};
  for (std::int64_t s = 0; s < matrix.num_slivers(); ++s) {
    const double* values = matrix.sliver(s);
    for (std::int64_t col = 0; col < matrix.cols(); ++col, values += kSliverRows) {
      for (int v = 0; v < kSliverVectors; ++v) {
        const Simd value = load(values + v * kLanes);
        sums[v] += value * value;
      }
    }
  }
  double total = 0.0;
  for (const Simd& sum : sums) total += sum_of_lanes(sum);
  return total;
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
