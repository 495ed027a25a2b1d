// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/band_reduction.h"

#include "linalg/register_tile.h"
#include "metrics/linalg/reflector.h"

namespace lime::linalg {
namespace {

constexpr int kVectors = static_cast<int>(kBandwidth) / kLanes;
constexpr std::int64_t kRows = kPanelRows<double>;

using Tile = RegisterTile<double, kPanelVectors<double>, kTileColumns<double>>;

/// Computes tile[r, j] += sum_p a[p, r] b[p, j]: a panel times rows of a matrix.
///
/// @param a  [depth, kRows], contiguous.
/// @param b  [depth, kTileColumns<double>], rows `b_stride` apart.
[[gnu::always_inline]] inline void multiply_panel(Tile& tile, std::int64_t depth, const double* a,
                                                  const double* b, std::int64_t b_stride) {
  multiply_add(tile, depth, a, kRows, b, b_stride);
}

/// Computes tile[c, j] += sum_r a[c, r] v[r, j]: columns of a panel, transposed, times rows.
///
/// @param a  [kTileColumns<double>, kRows], columns of one panel, contiguous.
/// @param v  [kRows, kRows], rows `v_stride` apart.
inline void multiply_transposed_panel(Tile& tile, const double* a, const double* v,
                                      std::int64_t v_stride) {
  multiply_add(tile, kRows, v, v_stride, a, 1, kRows);
}

/// Loads columns of `tile` from kTileColumns<double> lines of kRows values, `stride` apart.
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

/// kBandwidth values in registers, e.g. a row of the panel.
struct Vector {
  Simd value[kVectors] = {};
};

/// Computes dots[c] = sum over rows > column of panel[r, column] panel[r, c].
void dot_with_column(const double* panel, std::int64_t num_rows, std::int64_t column,
                     double* dots) {
  Vector sums;
  for (std::int64_t r = column + 1; r < num_rows; ++r) {
    const double* const row = panel + r * kBandwidth;
    const Simd x(row[column]);
    for (int i = 0; i < kVectors; ++i) sums.value[i] += x * load(row + i * kLanes);
  }
  for (int i = 0; i < kVectors; ++i) store(dots + i * kLanes, sums.value[i]);
}

/// For rows > column: panel[r, :] -= scale panel[r, column] w, and panel[r, column] becomes v[r].
/// Processes columns from kFirst * kLanes on; w is 0 up to `column`.
template <int kFirst>
void apply_and_dot(double* panel, std::int64_t num_rows, std::int64_t column, double scale,
                   const double* w, double* dots) {
  Vector update;
  Vector sums;
  for (int i = kFirst; i < kVectors; ++i) update.value[i] = load(w + i * kLanes);
  const std::int64_t next = std::min(column + 1, kBandwidth - 1);
  for (std::int64_t r = column + 1; r < num_rows; ++r) {
    double* const row = panel + r * kBandwidth;
    const double v = row[column] * scale;
    const double x = row[next] - v * w[next];
    const Simd factor(v);
    const Simd next_value(r == column + 1 ? 0.0 : x);
#pragma GCC unroll 24
    for (int i = kFirst; i < kVectors; ++i) {
      const Simd value = load(row + i * kLanes) - factor * update.value[i];
      store(row + i * kLanes, value);
      sums.value[i] += next_value * value;
    }
    row[column] = v;
  }
  for (int i = kFirst; i < kVectors; ++i) store(dots + i * kLanes, sums.value[i]);
}

using ApplyFn = void (*)(double*, std::int64_t, std::int64_t, double, const double*, double*);

/// Selects the instance that skips the registers left of `column`.
template <int kFirst = 0> ApplyFn apply_from(std::int64_t column) {
  if constexpr (kFirst + 1 < kVectors) {
    if (column >= (kFirst + 1) * kLanes) return apply_from<kFirst + 1>(column);
  }
  return &apply_and_dot<kFirst>;
}

constexpr std::int64_t kB = kBandwidth;
/// Panels of a block that stays in the L2 cache for both multiplications.
constexpr std::int64_t kBlockPanels = 4;
/// Panels whose reflectors stay there while all rows are processed.
constexpr std::int64_t kUpdatePanels = 8;
static_assert(kB % kTileColumns<double> == 0);

/// Computes out[p, j] = sum_r a[r, p] v[r, j] for a in panels and v row by row, [kB, kB].
void multiply_transposed(const Panels<double>& a, const double* v_rows, double* out) {
  for (std::int64_t p = 0; p < kB; p += kTileColumns<double>) {
    for (std::int64_t j = 0; j < kB; j += kRows) {
      Tile tile;
      for (std::int64_t s = 0; s < a.num_panels(); ++s) {
        multiply_transposed_panel(tile, a.panel(0, s) + p * kRows, v_rows + s * kRows * kB + j, kB);
      }
      store_tile(tile, out + p * kB + j, kB);
    }
  }
}

/// Computes out = a^T b, or a b, of [kB, kB] matrices row by row; small enough for plain loops.
void multiply_small(const double* a, bool transpose_a, const double* b, double* out) {
  std::fill(out, out + kB * kB, 0.0);
  for (std::int64_t i = 0; i < kB; ++i) {
    for (std::int64_t k = 0; k < kB; ++k) {
      const Simd factor(transpose_a ? a[k * kB + i] : a[i * kB + k]);
      for (std::int64_t j = 0; j < kB; j += kLanes) {
        store(out + i * kB + j, load(out + i * kB + j) + factor * load(b + k * kB + j));
      }
    }
  }
}

/// The block [row panels, column panels) of the symmetric A times V, used twice: into `product`
/// as rows of the lower triangle, into `product_rows` as columns of it.
struct Block {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t col_begin;
  std::int64_t col_end;
};

void multiply_rows_of_block(const SymmetricPanels& a, std::int64_t first, const Block& block,
                            const double* v_rows, Panels<double>& product) {
  for (std::int64_t i = block.row_begin; i < block.row_end; ++i) {
    const std::int64_t end = std::min(block.col_end, i + 1);
    const std::int64_t depth = (end - block.col_begin) * kRows;
    const double* const columns = a.panel(i) + block.col_begin * kRows * kRows;
    const double* const v = v_rows + (block.col_begin - first) * kRows * kB;
    double* const out = product.panel(0, i - first);
    for (std::int64_t j = 0; j < kB; j += kTileColumns<double>) {
      Tile tile;
      if (block.col_begin > first) load_tile(tile, out + j * kRows, kRows);
      multiply_panel(tile, depth, columns, v + j, kB);
      store_tile(tile, out + j * kRows, kRows);
    }
  }
}

void multiply_columns_of_block(const SymmetricPanels& a, std::int64_t first, const Block& block,
                               const double* v_rows, double* product_rows) {
  for (std::int64_t c = block.col_begin; c < block.col_end; ++c) {
    const std::int64_t below = std::max(block.row_begin, c + 1);
    for (std::int64_t p = c * kRows; p < (c + 1) * kRows; p += kTileColumns<double>) {
      double* const out = product_rows + (p - first * kRows) * kB;
      for (std::int64_t j = 0; j < kB; j += kRows) {
        Tile tile;
        load_tile(tile, out + j, kB);
        for (std::int64_t i = below; i < block.row_end; ++i) {
          multiply_transposed_panel(tile, a.panel(i) + p * kRows,
                                    v_rows + (i - first) * kRows * kB + j, kB);
        }
        store_tile(tile, out + j, kB);
      }
    }
  }
}

/// Factors a panel of kBandwidth columns, A = Q R with Q = H_0 H_1 ..., in place.
///
/// @param panel  [num_rows, kBandwidth] row by row. On return the upper triangle contains R; the
///               part below contains the vectors v without their leading 1.
/// @param tau    [kBandwidth]; 0 for columns that need no reflector.
/// One pass per column applies a reflector and computes the products of the next column.
void factor_householder_panel(double* panel, std::int64_t num_rows, double* tau) {
  alignas(64) double dots[kBandwidth] = {};
  alignas(64) double w[kBandwidth];
  std::fill(tau, tau + kBandwidth, 0.0);
  dot_with_column(panel, num_rows, 0, dots);
  for (std::int64_t j = 0; j < std::min(num_rows, kBandwidth); ++j) {
    double* const pivot = panel + j * kBandwidth;
    const Reflector reflector = make_reflector(pivot[j], dots[j]);
    tau[j] = reflector.tau;
    std::fill(w, w + kBandwidth, 0.0);
    for (std::int64_t c = j + 1; c < kBandwidth; ++c) {
      w[c] = reflector.tau * (pivot[c] + reflector.scale * dots[c]);
      pivot[c] -= w[c];
    }
    pivot[j] = reflector.beta;
    apply_from(j)(panel, num_rows, j, reflector.scale, w, dots);
  }
}

}  // namespace

void BandReduction::reduce(SymmetricPanels& matrix) {
  constexpr std::int64_t kPanelsPerBlock = kB / kRows;
  const std::int64_t num_panels = matrix.num_panels();
  for (std::int64_t panel = 0; panel + kPanelsPerBlock < num_panels; panel += kPanelsPerBlock) {
    const std::int64_t trailing = panel + kPanelsPerBlock;
    rows_ = (num_panels - trailing) * kRows;
    factor_panel(matrix, panel * kRows);
    form_triangular_factor();
    multiply_trailing(matrix, trailing);
    form_update();
    update_trailing(matrix, trailing);
  }
}

void BandReduction::factor_panel(SymmetricPanels& matrix, std::int64_t first_col) {
  const std::int64_t first = (first_col + kB) / kRows;
  double* const v = v_rows_.resize(static_cast<std::size_t>(rows_ * kB));
  for (std::int64_t r = 0; r < rows_; ++r) {
    const double* const from = matrix.panel(first + r / kRows) + r % kRows;
    for (std::int64_t c = 0; c < kB; ++c) v[r * kB + c] = from[(first_col + c) * kRows];
  }
  factor_householder_panel(v, rows_, tau_);
  for (std::int64_t r = 0; r < std::min(rows_, kB); ++r) {
    for (std::int64_t c = r; c < kB; ++c) {
      matrix.at(first_col + kB + r, first_col + c) = v[r * kB + c];
      v[r * kB + c] = c == r ? 1.0 : 0.0;
    }
  }
  reflectors_.resize(rows_, 2 * kB);
  for (std::int64_t r = 0; r < rows_; ++r) {
    double* const to = reflectors_.panel(0, r / kRows) + r % kRows;
    for (std::int64_t c = 0; c < kB; ++c) to[c * kRows] = v[r * kB + c];
  }
}

void BandReduction::form_triangular_factor() {
  // V^T V needs only the columns of V in `reflectors_`, which come first.
  multiply_transposed(reflectors_, v_rows_.data(), gram_);
  std::fill(triangular_, triangular_ + kB * kB, 0.0);
  for (std::int64_t j = 0; j < kB; ++j) {
    triangular_[j * kB + j] = tau_[j];
    for (std::int64_t i = 0; i < j; ++i) {
      double sum = 0.0;
      for (std::int64_t k = i; k < j; ++k) sum += triangular_[i * kB + k] * gram_[k * kB + j];
      triangular_[i * kB + j] = -tau_[j] * sum;
    }
  }
}

void BandReduction::multiply_trailing(const SymmetricPanels& matrix, std::int64_t first) {
  product_.resize(rows_, kB);
  double* const product_rows = product_rows_.resize_zeroed(static_cast<std::size_t>(rows_ * kB));
  const std::int64_t end = matrix.num_panels();
  for (std::int64_t i = first; i < end; i += kBlockPanels) {
    for (std::int64_t j = first; j <= i; j += kBlockPanels) {
      const Block block{i, std::min(i + kBlockPanels, end), j, std::min(j + kBlockPanels, end)};
      multiply_rows_of_block(matrix, first, block, v_rows_.data(), product_);
      multiply_columns_of_block(matrix, first, block, v_rows_.data(), product_rows);
    }
  }
  for (std::int64_t r = 0; r < rows_; ++r) {
    double* const to = product_.panel(0, r / kRows) + r % kRows;
    for (std::int64_t c = 0; c < kB; ++c) to[c * kRows] += product_rows[r * kB + c];
  }
}

void BandReduction::form_update() {
  alignas(64) double inner[kB * kB];
  alignas(64) double half[kB * kB];
  multiply_transposed(product_, v_rows_.data(), inner);  // (V^T A V)^T, symmetric
  multiply_small(inner, false, triangular_, half);
  multiply_small(triangular_, true, half, correction_);
  for (double& value : correction_) value *= -0.5;
  for (std::int64_t s = 0; s < product_.num_panels(); ++s) {
    double* const w = reflectors_.panel(0, s) + kB * kRows;
    for (std::int64_t j = 0; j < kB; j += kTileColumns<double>) {
      Tile tile;
      multiply_panel(tile, kB, product_.panel(0, s), triangular_ + j, kB);
      multiply_panel(tile, kB, reflectors_.panel(0, s), correction_ + j, kB);
      store_tile(tile, w + j * kRows, kRows);
    }
  }
}

void BandReduction::update_trailing(SymmetricPanels& matrix, std::int64_t first) const {
  constexpr std::int64_t kW = kB * kRows;
  const std::int64_t count = matrix.num_panels() - first;
  for (std::int64_t block = 0; block < count; block += kUpdatePanels) {
    for (std::int64_t i = block; i < count; ++i) {
      const double* const rows = reflectors_.panel(0, i);
      const std::int64_t end = std::min(block + kUpdatePanels, i + 1);
      for (std::int64_t j = block; j < end; ++j) {
        double* const to = matrix.panel(first + i) + (first + j) * kRows * kRows;
        for (std::int64_t offset = 0; offset < kRows; offset += kTileColumns<double>) {
          const double* const cols = reflectors_.panel(0, j) + offset;
          Tile tile;
          multiply_panel(tile, kB, rows, cols + kW, kRows);
          multiply_panel(tile, kB, rows + kW, cols, kRows);
          subtract_tile(tile, to + offset * kRows, kRows);
        }
      }
    }
  }
}

}  // namespace lime::linalg
