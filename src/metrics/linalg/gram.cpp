// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/gram.h"

#include <cassert>

namespace lime::linalg {
namespace {

/// Columns of the operand that are packed and multiplied at once: a sliver of them, 24 KiB with
/// AVX-512, stays in the L1 cache while others are streamed.
constexpr std::int64_t kDepth = 128;
/// Streamed slivers per block; they stay in the L2 cache.
constexpr std::int64_t kBlockSlivers = 24;

template <typename Scalar>
Simd load_affine(const AffineRows<Scalar>& rows, std::int64_t row, std::int64_t col) {
  Simd z = simd::load_as<double>(rows.x + row * rows.row_stride + col);
  if (rows.shift != nullptr) z -= load(rows.shift + col);
  if (rows.column_scale != nullptr) z *= load(rows.column_scale + col);
  return z;
}

/// Packs to[c * kSliverRows + r] = z[first_row + r, first_col + c] for c < depth; later rows are 0.
template <typename Scalar>
void pack_rows(const AffineRows<Scalar>& rows, std::int64_t first_row, std::int64_t first_col,
               std::int64_t depth, double* to) {
  const std::int64_t filled = std::min(kSliverRows, rows.num_rows - first_row);
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

/// Packs columns [start, start + depth) of all rows.
template <typename Scalar>
void pack_all_rows(const AffineRows<Scalar>& rows, std::int64_t start, std::int64_t depth,
                   SliverMatrix& panel) {
  panel.resize(rows.num_rows, depth);
  for (std::int64_t s = 0; s < panel.num_slivers(); ++s) {
    pack_rows(rows, s * kSliverRows, start, depth, panel.sliver(s));
  }
}

/// Packs all columns of the rows [start, start + depth): for sliver s, to[p * kSliverRows + i] =
/// z[start + p, s * kSliverRows + i]. Reads row by row in memory order.
template <typename Scalar>
void pack_all_columns(const AffineRows<Scalar>& rows, std::int64_t start, std::int64_t depth,
                      SliverMatrix& panel) {
  panel.resize(rows.num_cols, depth);
  const std::int64_t whole = rows.num_cols / kSliverRows;
  const std::int64_t rest = rows.num_cols - whole * kSliverRows;
  for (std::int64_t p = 0; p < depth; ++p) {
    const std::int64_t row = start + p;
    const Simd row_scale(rows.row_scale == nullptr ? 1.0 : rows.row_scale[row]);
    for (std::int64_t s = 0; s < whole; ++s) {
      double* const to = panel.sliver(s) + p * kSliverRows;
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < kSliverRows; i += kLanes) {
        store(to + i, load_affine(rows, row, s * kSliverRows + i) * row_scale);
      }
    }
    if (rest == 0) continue;
    double* const to = panel.sliver(whole) + p * kSliverRows;
    for (std::int64_t i = 0; i < rest; ++i) to[i] = rows.at(row, whole * kSliverRows + i);
    std::fill(to + rest, to + kSliverRows, 0.0);
  }
}

/// Computes c += a b, or c = a b if `first`, for `count` registers of rows of the tile.
template <int kCount = kSliverVectors>
void add_tile(std::int64_t count, std::int64_t depth, const double* a, const double* b, bool first,
              double* c) {
  if constexpr (kCount > 1) {
    if (count < kCount) return add_tile<kCount - 1>(count, depth, a, b, first, c);
  }
  // Prefetch C, which may be too large for the caches.
  TileOf<kCount> tile;
  tile.visit(c, kSliverRows, [](const double* at, const Simd&) { __builtin_prefetch(at, 1); });
  multiply_sliver(tile, depth, a, b, kSliverRows);
  tile.visit(c, kSliverRows, [first](double* at, const Simd& value) {
    store(at, first ? value : load(at) + value);
  });
}

/// Columns [start, start + depth) of a matrix in slivers.
struct Slice {
  const SliverMatrix& matrix;
  std::int64_t start;
  std::int64_t depth;

  const double* sliver(std::int64_t index) const {
    return matrix.sliver(index) + start * kSliverRows;
  }
};

/// Memory that is gradually prefetched into the L2 cache during a computation.
struct Prefetch {
  const char* next = nullptr;
  const char* end = nullptr;

  void bring(std::int64_t bytes) {
    constexpr std::int64_t kCacheLine = 64;
    const char* const stop = next + std::min<std::int64_t>(bytes, end - next);
    for (; next < stop; next += kCacheLine) __builtin_prefetch(next, 0, 2);
  }
};

/// Returns rows [start, start + kDepth), as far as they exist; nothing if they are not contiguous.
template <typename Scalar> Prefetch rows_from(const AffineRows<Scalar>& rows, std::int64_t start) {
  if (start >= rows.num_rows || rows.row_stride != rows.num_cols) return {};
  const std::int64_t end = std::min(start + kDepth, rows.num_rows);
  return {reinterpret_cast<const char*>(rows.x + start * rows.row_stride),
          reinterpret_cast<const char*>(rows.x + end * rows.row_stride)};
}

/// Adds sliver i of P times block j of P^T to that of C, unless above the diagonal.
void add_block(const Slice& p, std::int64_t i, std::int64_t j, bool first, SymmetricSlivers& c) {
  const std::int64_t rows = std::min(kSliverRows, p.matrix.rows() - i * kSliverRows);
  const std::int64_t end = (rows + kLanes - 1) / kLanes;
  for (std::int64_t offset = 0; offset < kSliverRows; offset += kTileCols) {
    const std::int64_t begin = i == j ? offset / kLanes : 0;
    if (begin >= end) break;
    add_tile(end - begin, p.depth, p.sliver(i) + begin * kLanes, p.sliver(j) + offset, first,
             c.sliver(i) + (j * kSliverRows + offset) * kSliverRows + begin * kLanes);
  }
}

/// Computes the lower triangle of C += P P^T before mirror_diagonal(); `first` overwrites C.
/// @param needed_next  prefetched during the computation.
void add_outer_product(const Slice& p, bool first, SymmetricSlivers& c, Prefetch needed_next = {}) {
  const std::int64_t num_slivers = p.matrix.num_slivers();
  const std::int64_t blocks = num_slivers * (num_slivers + 1) / 2;
  const std::int64_t share = (needed_next.end - needed_next.next) / blocks + 1;
  // Rows beyond the last one are not computed.
  if (first) std::fill(c.sliver(num_slivers - 1), c.sliver(num_slivers), 0.0);
  for (std::int64_t block = 0; block < num_slivers; block += kBlockSlivers) {
    for (std::int64_t i = block; i < num_slivers; ++i) {
      const std::int64_t end = std::min(block + kBlockSlivers, i + 1);
      for (std::int64_t j = block; j < end; ++j) {
        needed_next.bring(share);
        add_block(p, i, j, first, c);
      }
    }
  }
}

void mirror_diagonal(SymmetricSlivers& matrix) {
  for (std::int64_t s = 0; s < matrix.num_slivers(); ++s) {
    double* const block = matrix.sliver(s) + s * kSliverRows * kSliverRows;
    for (int col = 1; col < kSliverRows; ++col) {
      for (int row = 0; row < col; ++row)
        block[col * kSliverRows + row] = block[row * kSliverRows + col];
    }
  }
}

/// Computes C += A B^T of panels, C [rows of A, rows of B padded to whole slivers].
void add_product(const SliverMatrix& a, const SliverMatrix& b, std::int64_t depth,
                 SliverMatrix& c) {
  for (std::int64_t block = 0; block < b.num_slivers(); block += kBlockSlivers) {
    const std::int64_t block_end = std::min(block + kBlockSlivers, b.num_slivers());
    for (std::int64_t i = 0; i < a.num_slivers(); ++i) {
      for (std::int64_t j = block; j < block_end; ++j) {
        for (std::int64_t offset = 0; offset < kSliverRows; offset += kTileCols) {
          add_tile(kSliverVectors, depth, a.sliver(i), b.sliver(j) + offset, false,
                   c.sliver(i) + (j * kSliverRows + offset) * kSliverRows);
        }
      }
    }
  }
}

/// Packs columns [first_col, first_col + depth) of sliver `index` of a symmetric matrix.
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
    if (of_rows) {
      pack_all_rows(rows, start, depth, panel_);
    } else {
      pack_all_columns(rows, start, depth, panel_);
    }
    add_outer_product({panel_, 0, depth}, start == 0, gram,
                      of_rows ? Prefetch{} : rows_from(rows, start + depth));
  }
  mirror_diagonal(gram);
}

template <typename Scalar>
void GramBuilder::add_feature_gram(const AffineRows<Scalar>& rows, SymmetricSlivers& gram) {
  assert(gram.size() == rows.num_cols);
  for (std::int64_t start = 0; start < rows.num_rows; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, rows.num_rows - start);
    pack_all_columns(rows, start, depth, panel_);
    add_outer_product({panel_, 0, depth}, false, gram, rows_from(rows, start + depth));
  }
  mirror_diagonal(gram);
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
  for (std::int64_t start = 0; start < matrix.cols(); start += kDepth) {
    const std::int64_t depth = std::min(kDepth, matrix.cols() - start);
    add_outer_product({matrix, start, depth}, start == 0, gram);
  }
  mirror_diagonal(gram);
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
    add_outer_product({panel_, 0, depth}, start == 0, squared);
  }
  mirror_diagonal(squared);
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
  constexpr std::int64_t kBlock = kSliverRows * kSliverRows;
  for (std::int64_t s = 0; s < a.num_slivers(); ++s) {
    below += dot(a.sliver(s), b.sliver(s), s * kBlock);
    diagonal += dot(a.sliver(s) + s * kBlock, b.sliver(s) + s * kBlock, kBlock);
  }
  return 2.0 * below + diagonal;
}

void clamp_elements(SymmetricSlivers& matrix) {
  for (double& value : matrix.values()) value = std::max(value, 0.0);
}

}  // namespace lime::linalg
