// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/gram.h"

#include <cassert>

#include "linalg/packed_product.h"

namespace lime::linalg {
namespace {

/// Columns of the operand that are packed and multiplied at once: a panel of them, 24 KiB with
/// AVX-512, stays in the L1 cache while others are streamed.
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kRows = kPanelRows<double>;

template <typename Scalar>
Simd load_affine(const AffineRows<Scalar>& rows, std::int64_t row, std::int64_t col) {
  Simd z = simd::load_as<double>(rows.x + row * rows.row_stride + col);
  if (rows.shift != nullptr) z -= load(rows.shift + col);
  if (rows.column_scale != nullptr) z *= load(rows.column_scale + col);
  return z;
}

/// Packs to[c * kRows + r] = z[first_row + r, first_col + c] for c < depth; later rows are 0.
template <typename Scalar>
void pack_rows(const AffineRows<Scalar>& rows, std::int64_t first_row, std::int64_t first_col,
               std::int64_t depth, double* to) {
  const std::int64_t filled = std::min(kRows, rows.num_rows - first_row);
  if (filled < kRows) std::fill(to, to + depth * kRows, 0.0);
  const std::int64_t whole = depth / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole; c += kLanes) {
    alignas(64) double block[kRows][kLanes];
    for (std::int64_t r = 0; r < filled; ++r) {
      const std::int64_t row = first_row + r;
      const Simd z = load_affine(rows, row, first_col + c);
      store(block[r], rows.row_scale == nullptr ? z : z * Simd(rows.row_scale[row]));
    }
    for (std::int64_t i = 0; i < kLanes; ++i) {
      double* const column = to + (c + i) * kRows;
      for (std::int64_t r = 0; r < filled; ++r) column[r] = block[r][i];
    }
  }
  for (std::int64_t c = whole; c < depth; ++c) {
    for (std::int64_t r = 0; r < filled; ++r) {
      to[c * kRows + r] = rows.at(first_row + r, first_col + c);
    }
  }
}

/// Packs columns [start, start + depth) of all rows.
template <typename Scalar>
void pack_all_rows(const AffineRows<Scalar>& rows, std::int64_t start, std::int64_t depth,
                   Panels<double>& panel) {
  panel.resize(rows.num_rows, depth);
  for (std::int64_t s = 0; s < panel.num_panels(); ++s) {
    pack_rows(rows, s * kRows, start, depth, panel.panel(0, s));
  }
}

/// Packs all columns of the rows [start, start + depth): in panel s, to[p * kRows + i] =
/// z[start + p, s * kRows + i]. Reads row by row in memory order.
template <typename Scalar>
void pack_all_columns(const AffineRows<Scalar>& rows, std::int64_t start, std::int64_t depth,
                      Panels<double>& panel) {
  panel.resize(rows.num_cols, depth);
  const std::int64_t whole = rows.num_cols / kRows;
  const std::int64_t rest = rows.num_cols - whole * kRows;
  for (std::int64_t p = 0; p < depth; ++p) {
    const std::int64_t row = start + p;
    const Simd row_scale(rows.row_scale == nullptr ? 1.0 : rows.row_scale[row]);
    for (std::int64_t s = 0; s < whole; ++s) {
      double* const to = panel.panel(0, s) + p * kRows;
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < kRows; i += kLanes) {
        store(to + i, load_affine(rows, row, s * kRows + i) * row_scale);
      }
    }
    if (rest == 0) continue;
    double* const to = panel.panel(0, whole) + p * kRows;
    for (std::int64_t i = 0; i < rest; ++i) to[i] = rows.at(row, whole * kRows + i);
    std::fill(to + rest, to + kRows, 0.0);
  }
}

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

/// Computes the lower triangle of C += P P^T before mirror_diagonal(); `first` overwrites C.
/// @param needed_next  prefetched during the computation.
void add_outer_product(const Slab<double>& p, bool first, SymmetricPanels& c,
                       Prefetch needed_next = {}) {
  const std::int64_t num_panels = c.num_panels();
  const std::int64_t blocks = num_panels * (num_panels + 1) / 2;
  const std::int64_t share = (needed_next.end - needed_next.next) / blocks + 1;
  // Rows beyond the last one are not computed.
  if (first) std::fill(c.panel(num_panels - 1), c.panel(num_panels), 0.0);
  multiply_slabs(p, {0, num_panels}, p, {0, num_panels}, first ? Accumulate::kNo : Accumulate::kYes,
                 Triangle::kLower, [&](std::int64_t i, std::int64_t j) {
                   needed_next.bring(share);
                   const std::int64_t rows = std::min(kRows, c.size() - i * kRows);
                   const std::int64_t stored = (rows + kLanes - 1) / kLanes * kLanes;
                   return ProductBlock<double>{c.panel(i) + j * kRows * kRows, kRows, stored};
                 });
}

void mirror_diagonal(SymmetricPanels& matrix) {
  for (std::int64_t s = 0; s < matrix.num_panels(); ++s) {
    double* const block = matrix.panel(s) + s * kRows * kRows;
    for (int col = 1; col < kRows; ++col) {
      for (int row = 0; row < col; ++row) block[col * kRows + row] = block[row * kRows + col];
    }
  }
}

/// Computes C += A B^T of panels, C [rows of A, rows of B padded to whole panels].
void add_product(const Panels<double>& a, const Panels<double>& b, Panels<double>& c) {
  multiply_slabs(a.slab(0), {0, a.num_panels()}, b.slab(0), {0, b.num_panels()}, Accumulate::kYes,
                 Triangle::kBoth, [&](std::int64_t i, std::int64_t j) {
                   return ProductBlock<double>{c.panel(0, i) + j * kRows * kRows, kRows};
                 });
}

/// Packs columns [first_col, first_col + depth) of panel `index` of a symmetric matrix.
void pack_symmetric(const SymmetricPanels& matrix, std::int64_t index, std::int64_t first_col,
                    std::int64_t depth, double* to) {
  const std::int64_t stored = kRows * (index + 1);
  for (std::int64_t c = 0; c < depth; ++c, to += kRows) {
    const std::int64_t col = first_col + c;
    for (std::int64_t r = 0; r < kRows; ++r) {
      const std::int64_t row = index * kRows + r;
      to[r] = col < stored ? matrix.at(row, col) : matrix.at(col, row);
    }
  }
}

}  // namespace

template <typename Scalar>
void GramBuilder::smaller_gram(const AffineRows<Scalar>& rows, SymmetricPanels& gram) {
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
    add_outer_product(panel_.slab(0), start == 0, gram,
                      of_rows ? Prefetch{} : rows_from(rows, start + depth));
  }
  mirror_diagonal(gram);
}

template <typename Scalar>
void GramBuilder::add_feature_gram(const AffineRows<Scalar>& rows, SymmetricPanels& gram) {
  assert(gram.size() == rows.num_cols);
  for (std::int64_t start = 0; start < rows.num_rows; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, rows.num_rows - start);
    pack_all_columns(rows, start, depth, panel_);
    add_outer_product(panel_.slab(0), false, gram, rows_from(rows, start + depth));
  }
  mirror_diagonal(gram);
}

template <typename Scalar>
void GramBuilder::cross_gram(const AffineRows<Scalar>& x, const AffineRows<Scalar>& y,
                             Panels<double>& product) {
  assert(x.num_rows == y.num_rows);
  product.resize(x.num_cols, panels_for<double>(y.num_cols) * kRows);
  std::fill(product.panel(0, 0), product.panel(0, product.num_panels()), 0.0);
  for (std::int64_t start = 0; start < x.num_rows; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, x.num_rows - start);
    pack_all_columns(x, start, depth, panel_);
    pack_all_columns(y, start, depth, other_panel_);
    add_product(panel_, other_panel_, product);
  }
}

void GramBuilder::outer_gram(const Panels<double>& matrix, SymmetricPanels& gram) {
  gram.resize(matrix.rows());
  for (std::int64_t start = 0; start < matrix.depth(); start += kDepth) {
    const std::int64_t depth = std::min(kDepth, matrix.depth() - start);
    add_outer_product(matrix.columns(start, depth), start == 0, gram);
  }
  mirror_diagonal(gram);
}

void GramBuilder::square(const SymmetricPanels& matrix, SymmetricPanels& squared) {
  assert(&matrix != &squared);
  squared.resize(matrix.size());
  const std::int64_t total = matrix.padded_size();
  for (std::int64_t start = 0; start < total; start += kDepth) {
    const std::int64_t depth = std::min(kDepth, total - start);
    panel_.resize(matrix.size(), depth);
    for (std::int64_t s = 0; s < panel_.num_panels(); ++s) {
      pack_symmetric(matrix, s, start, depth, panel_.panel(0, s));
    }
    add_outer_product(panel_.slab(0), start == 0, squared);
  }
  mirror_diagonal(squared);
}

template void GramBuilder::smaller_gram(const AffineRows<float>&, SymmetricPanels&);
template void GramBuilder::smaller_gram(const AffineRows<double>&, SymmetricPanels&);
template void GramBuilder::add_feature_gram(const AffineRows<float>&, SymmetricPanels&);
template void GramBuilder::add_feature_gram(const AffineRows<double>&, SymmetricPanels&);
template void GramBuilder::cross_gram(const AffineRows<float>&, const AffineRows<float>&,
                                      Panels<double>&);
template void GramBuilder::cross_gram(const AffineRows<double>&, const AffineRows<double>&,
                                      Panels<double>&);

double trace(const SymmetricPanels& matrix) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < matrix.size(); ++i) sum += matrix.at(i, i);
  return sum;
}

double squared_norm(const Panels<double>& matrix) {
  Simd sums[kPanelVectors<double>] = {};
  for (std::int64_t s = 0; s < matrix.num_panels(); ++s) {
    const double* values = matrix.panel(0, s);
    for (std::int64_t col = 0; col < matrix.depth(); ++col, values += kRows) {
      for (int v = 0; v < kPanelVectors<double>; ++v) {
        const Simd value = load(values + v * kLanes);
        sums[v] += value * value;
      }
    }
  }
  double total = 0.0;
  for (const Simd& sum : sums) total += sum_of_lanes(sum);
  return total;
}

double inner_product(const SymmetricPanels& a, const SymmetricPanels& b) {
  const auto dot = [](const double* x, const double* y, std::int64_t count) {
    Simd sums[kPanelVectors<double>] = {};
    for (std::int64_t i = 0; i < count; i += kRows) {
      for (int v = 0; v < kPanelVectors<double>; ++v) {
        sums[v] += load(x + i + v * kLanes) * load(y + i + v * kLanes);
      }
    }
    double total = 0.0;
    for (const Simd& sum : sums) total += sum_of_lanes(sum);
    return total;
  };
  double below = 0.0;
  double diagonal = 0.0;
  constexpr std::int64_t kBlock = kRows * kRows;
  for (std::int64_t s = 0; s < a.num_panels(); ++s) {
    below += dot(a.panel(s), b.panel(s), s * kBlock);
    diagonal += dot(a.panel(s) + s * kBlock, b.panel(s) + s * kBlock, kBlock);
  }
  return 2.0 * below + diagonal;
}

void clamp_elements(SymmetricPanels& matrix) {
  for (double& value : matrix.values()) value = std::max(value, 0.0);
}

}  // namespace lime::linalg
