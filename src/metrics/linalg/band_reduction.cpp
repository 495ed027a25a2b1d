// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/band_reduction.h"

#include <array>
#include <cmath>

namespace lime::linalg {
namespace {

constexpr int kVectors = static_cast<int>(kBandwidth) / kLanes;

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
/// Slivers of a block that stays in the L2 cache for both multiplications.
constexpr std::int64_t kBlockSlivers = 4;
/// Slivers whose reflectors stay there while all rows are processed.
constexpr std::int64_t kUpdateSlivers = 8;
static_assert(kB % kTileCols == 0);

/// Computes out[p, j] = sum_r a[r, p] v[r, j] for a in slivers and v row by row, [kB, kB].
void multiply_transposed(const SliverMatrix& a, const double* v_rows, double* out) {
  for (std::int64_t p = 0; p < kB; p += kTileCols) {
    for (std::int64_t j = 0; j < kB; j += kSliverRows) {
      Tile tile;
      for (std::int64_t s = 0; s < a.num_slivers(); ++s) {
        multiply_transposed_sliver(tile, a.sliver(s) + p * kSliverRows,
                                   v_rows + s * kSliverRows * kB + j, kB);
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

/// The block [row slivers, column slivers) of the symmetric A times V, used twice: into `product`
/// as rows of the lower triangle, into `product_rows` as columns of it.
struct Block {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t col_begin;
  std::int64_t col_end;
};

void multiply_rows_of_block(const SymmetricSlivers& a, std::int64_t first, const Block& block,
                            const double* v_rows, SliverMatrix& product) {
  for (std::int64_t i = block.row_begin; i < block.row_end; ++i) {
    const std::int64_t end = std::min(block.col_end, i + 1);
    const std::int64_t depth = (end - block.col_begin) * kSliverRows;
    const double* const columns = a.sliver(i) + block.col_begin * kSliverRows * kSliverRows;
    const double* const v = v_rows + (block.col_begin - first) * kSliverRows * kB;
    double* const out = product.sliver(i - first);
    for (std::int64_t j = 0; j < kB; j += kTileCols) {
      Tile tile;
      if (block.col_begin > first) load_tile(tile, out + j * kSliverRows, kSliverRows);
      multiply_sliver(tile, depth, columns, v + j, kB);
      store_tile(tile, out + j * kSliverRows, kSliverRows);
    }
  }
}

void multiply_columns_of_block(const SymmetricSlivers& a, std::int64_t first, const Block& block,
                               const double* v_rows, double* product_rows) {
  for (std::int64_t c = block.col_begin; c < block.col_end; ++c) {
    const std::int64_t below = std::max(block.row_begin, c + 1);
    for (std::int64_t p = c * kSliverRows; p < (c + 1) * kSliverRows; p += kTileCols) {
      double* const out = product_rows + (p - first * kSliverRows) * kB;
      for (std::int64_t j = 0; j < kB; j += kSliverRows) {
        Tile tile;
        load_tile(tile, out + j, kB);
        for (std::int64_t i = below; i < block.row_end; ++i) {
          multiply_transposed_sliver(tile, a.sliver(i) + p * kSliverRows,
                                     v_rows + (i - first) * kSliverRows * kB + j, kB);
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

/// Sweeps in a pipeline; their blocks together stay in the L2 cache.
constexpr std::int64_t kSweepsTogether = 8;
/// A sweep may advance when the previous one is two steps ahead: then they do not overlap.
constexpr std::int64_t kLag = 2;

inline Vector load_vector(const double* from) {
  Vector vector;
#pragma GCC unroll 24
  for (int i = 0; i < kVectors; ++i) vector.value[i] = load(from + i * kLanes);
  return vector;
}

inline void store_vector(double* to, const Vector& vector) {
#pragma GCC unroll 24
  for (int i = 0; i < kVectors; ++i) store(to + i * kLanes, vector.value[i]);
}

inline void add_scaled(Vector& sum, double factor, const Vector& x) {
  const Simd broadcast(factor);
#pragma GCC unroll 24
  for (int i = 0; i < kVectors; ++i) sum.value[i] += broadcast * x.value[i];
}

inline double dot(const Vector& x, const Vector& y) {
  Simd even = x.value[0] * y.value[0];
  Simd odd = x.value[1] * y.value[1];
#pragma GCC unroll 24
  for (int i = 2; i + 1 < kVectors; i += 2) {
    even += x.value[i] * y.value[i];
    odd += x.value[i + 1] * y.value[i + 1];
  }
  return sum_of_lanes(even + odd);
}
static_assert(kVectors % 2 == 0);

/// Offset from one element of the band to its right neighbour.
constexpr std::int64_t kRight = 2 * kB - 1;

/// Returns `value` with the lanes up to and including `lane` set to 0.
[[gnu::always_inline]] inline Simd keep_above_lane(Simd value, int lane) {
  static const Simd lane_numbers([](auto i) { return static_cast<double>(static_cast<int>(i)); });
  std::experimental::where(lane_numbers <= Simd(static_cast<double>(lane)), value) = 0.0;
  return value;
}

/// Multiplies columns [kFirst * kLanes, (kFirst + 1) * kLanes) of a diagonal block A by v: adds the
/// result for the rows below them to `below`, that of the transpose to `above`.
template <int kFirst>
[[gnu::always_inline]] inline void multiply_columns(const double* block, const double* v_values,
                                                    const Vector& v, Vector& below, double* above) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::int64_t c = kFirst * kLanes + lane;
    const double* const col = block + c * kRight;
    const Simd factor(v_values[c]);
    const Simd partial = keep_above_lane(load(col + kFirst * kLanes), lane);
    below.value[kFirst] += factor * partial;
    Simd sum = partial * v.value[kFirst];
#pragma GCC unroll 24
    for (int i = kFirst + 1; i < kVectors; ++i) {
      const Simd value = load(col + i * kLanes);
      below.value[i] += factor * value;
      sum += value * v.value[i];
    }
    above[c] = sum_of_lanes(sum) + col[c] * v_values[c];
  }
}

/// Updates the same columns: A -= v w^T + w v^T.
template <int kFirst>
[[gnu::always_inline]] inline void subtract_columns(double* block, const double* v_values,
                                                    const double* w_values, const Vector& v,
                                                    const Vector& w) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::int64_t c = kFirst * kLanes + lane;
    double* const col = block + c * kRight;
    const Simd v_c(v_values[c]);
    const Simd w_c(w_values[c]);
    const Simd change = keep_above_lane(v.value[kFirst] * w_c + w.value[kFirst] * v_c, lane);
    const double on_diagonal = col[c] - 2.0 * v_values[c] * w_values[c];
    store(col + kFirst * kLanes, load(col + kFirst * kLanes) - change);
    col[c] = on_diagonal;
#pragma GCC unroll 24
    for (int i = kFirst + 1; i < kVectors; ++i) {
      store(col + i * kLanes, load(col + i * kLanes) - (v.value[i] * w_c + w.value[i] * v_c));
    }
  }
}

using VectorIndices = std::make_integer_sequence<int, kVectors>;

/// Returns A v for a symmetric block whose lower triangle is stored.
Vector multiply_diagonal_block(const double* block, const double* v_values, const Vector& v) {
  Vector below;
  alignas(64) double above[kB];
  [&]<int... kFirst>(std::integer_sequence<int, kFirst...>) {
    (multiply_columns<kFirst>(block, v_values, v, below, above), ...);
  }
  (VectorIndices{});
  add_scaled(below, 1.0, load_vector(above));
  return below;
}

void subtract_from_diagonal_block(double* block, const double* v_values, const Vector& v,
                                  const Vector& w) {
  alignas(64) double w_values[kB];
  store_vector(w_values, w);
  [&]<int... kFirst>(std::integer_sequence<int, kFirst...>) {
    (subtract_columns<kFirst>(block, v_values, w_values, v, w), ...);
  }
  (VectorIndices{});
}

}  // namespace

Reflector make_reflector(double first, double tail_squared) {
  if (tail_squared == 0.0) return {0.0, first, 0.0};
  const double beta = -std::copysign(std::sqrt(first * first + tail_squared), first);
  return {(beta - first) / beta, beta, 1.0 / (first - beta)};
}

void BandReduction::reduce(SymmetricSlivers& matrix) {
  constexpr std::int64_t kPanelSlivers = kB / kSliverRows;
  const std::int64_t num_slivers = matrix.num_slivers();
  for (std::int64_t panel = 0; panel + kPanelSlivers < num_slivers; panel += kPanelSlivers) {
    const std::int64_t trailing = panel + kPanelSlivers;
    rows_ = (num_slivers - trailing) * kSliverRows;
    factor_panel(matrix, panel * kSliverRows);
    form_triangular_factor();
    multiply_trailing(matrix, trailing);
    form_update();
    update_trailing(matrix, trailing);
  }
}

void BandReduction::factor_panel(SymmetricSlivers& matrix, std::int64_t first_col) {
  const std::int64_t first = (first_col + kB) / kSliverRows;
  double* const v = v_rows_.resize(static_cast<std::size_t>(rows_ * kB));
  for (std::int64_t r = 0; r < rows_; ++r) {
    const double* const from = matrix.sliver(first + r / kSliverRows) + r % kSliverRows;
    for (std::int64_t c = 0; c < kB; ++c) v[r * kB + c] = from[(first_col + c) * kSliverRows];
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
    double* const to = reflectors_.sliver(r / kSliverRows) + r % kSliverRows;
    for (std::int64_t c = 0; c < kB; ++c) to[c * kSliverRows] = v[r * kB + c];
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

void BandReduction::multiply_trailing(const SymmetricSlivers& matrix, std::int64_t first) {
  product_.resize(rows_, kB);
  double* const product_rows = product_rows_.resize_zeroed(static_cast<std::size_t>(rows_ * kB));
  const std::int64_t end = matrix.num_slivers();
  for (std::int64_t i = first; i < end; i += kBlockSlivers) {
    for (std::int64_t j = first; j <= i; j += kBlockSlivers) {
      const Block block{i, std::min(i + kBlockSlivers, end), j, std::min(j + kBlockSlivers, end)};
      multiply_rows_of_block(matrix, first, block, v_rows_.data(), product_);
      multiply_columns_of_block(matrix, first, block, v_rows_.data(), product_rows);
    }
  }
  for (std::int64_t r = 0; r < rows_; ++r) {
    double* const to = product_.sliver(r / kSliverRows) + r % kSliverRows;
    for (std::int64_t c = 0; c < kB; ++c) to[c * kSliverRows] += product_rows[r * kB + c];
  }
}

void BandReduction::form_update() {
  alignas(64) double inner[kB * kB];
  alignas(64) double half[kB * kB];
  multiply_transposed(product_, v_rows_.data(), inner);  // (V^T A V)^T, symmetric
  multiply_small(inner, false, triangular_, half);
  multiply_small(triangular_, true, half, correction_);
  for (double& value : correction_) value *= -0.5;
  for (std::int64_t s = 0; s < product_.num_slivers(); ++s) {
    double* const w = reflectors_.sliver(s) + kB * kSliverRows;
    for (std::int64_t j = 0; j < kB; j += kTileCols) {
      Tile tile;
      multiply_sliver(tile, kB, product_.sliver(s), triangular_ + j, kB);
      multiply_sliver(tile, kB, reflectors_.sliver(s), correction_ + j, kB);
      store_tile(tile, w + j * kSliverRows, kSliverRows);
    }
  }
}

void BandReduction::update_trailing(SymmetricSlivers& matrix, std::int64_t first) const {
  constexpr std::int64_t kW = kB * kSliverRows;
  const std::int64_t count = matrix.num_slivers() - first;
  for (std::int64_t block = 0; block < count; block += kUpdateSlivers) {
    for (std::int64_t i = block; i < count; ++i) {
      const double* const rows = reflectors_.sliver(i);
      const std::int64_t end = std::min(block + kUpdateSlivers, i + 1);
      for (std::int64_t j = block; j < end; ++j) {
        double* const to = matrix.sliver(first + i) + (first + j) * kSliverRows * kSliverRows;
        for (std::int64_t offset = 0; offset < kSliverRows; offset += kTileCols) {
          const double* const cols = reflectors_.sliver(j) + offset;
          Tile tile;
          multiply_sliver(tile, kB, rows, cols + kW, kSliverRows);
          multiply_sliver(tile, kB, rows + kW, cols, kSliverRows);
          subtract_tile(tile, to + offset * kSliverRows, kSliverRows);
        }
      }
    }
  }
}

void BandToTridiagonal::reduce(const SymmetricSlivers& matrix, std::span<double> diagonal,
                               std::span<double> subdiagonal) {
  const std::int64_t size = matrix.size();
  copy_band(matrix);
  for (std::int64_t first = 0; first + 2 < size; first += kSweepsTogether) {
    run_sweeps(first, std::min(kSweepsTogether, size - 2 - first), size);
  }
  for (std::int64_t i = 0; i < size; ++i) {
    diagonal[static_cast<std::size_t>(i)] = *column(i, i);
    subdiagonal[static_cast<std::size_t>(i)] = i + 1 < size ? *column(i + 1, i) : 0.0;
  }
}

void BandToTridiagonal::copy_band(const SymmetricSlivers& matrix) {
  const std::int64_t size = matrix.size();
  // Zeros after the last column allow full-size blocks everywhere.
  band_ = buffer_.resize_zeroed(static_cast<std::size_t>((size + 2 * kB + 1) * kStride));
  for (std::int64_t c = 0; c < size; ++c) {
    const std::int64_t end = std::min(size, c + kB + 1);
    for (std::int64_t r = c; r < end; ++r) *column(r, c) = matrix.at(r, c);
  }
}

void BandToTridiagonal::run_sweeps(std::int64_t first, std::int64_t count, std::int64_t size) {
  std::array<Sweep, kSweepsTogether> sweeps;
  const std::int64_t steps = (size - first + kB - 1) / kB;
  for (std::int64_t time = 0; time < steps + kLag * (count - 1); ++time) {
    for (std::int64_t s = 0; s < count; ++s) {
      const std::int64_t step = time - kLag * s;
      if (step < 0) break;
      Sweep& sweep = sweeps[static_cast<std::size_t>(s)];
      if (step == 0) start_sweep(sweep, first + s);
      if (sweep.row >= size) continue;
      update_diagonal_block(sweep);
      chase_bulge(sweep);
    }
  }
}

void BandToTridiagonal::start_sweep(Sweep& sweep, std::int64_t col) {
  double* const x = column(col + 1, col);
  double tail = 0.0;
  for (std::int64_t i = 1; i < kB; ++i) tail += x[i] * x[i];
  const Reflector reflector = make_reflector(x[0], tail);
  for (std::int64_t i = 0; i < kB; ++i) sweep.v[i] = reflector.scale * x[i];
  std::fill(x, x + kB, 0.0);
  x[0] = reflector.beta;
  sweep.v[0] = 1.0;
  sweep.tau = reflector.tau;
  sweep.row = col + 1;
}

void BandToTridiagonal::update_diagonal_block(const Sweep& sweep) {
  // w = tau A v - tau^2 (v^T A v) v / 2, then A -= v w^T + w v^T.
  double* const block = column(sweep.row, sweep.row);
  const Vector v = load_vector(sweep.v);
  const Vector product = multiply_diagonal_block(block, sweep.v, v);
  Vector w;
  add_scaled(w, sweep.tau, product);
  add_scaled(w, -0.5 * sweep.tau * sweep.tau * dot(product, v), v);
  subtract_from_diagonal_block(block, sweep.v, v, w);
}

void BandToTridiagonal::chase_bulge(Sweep& sweep) {
  const std::int64_t next = sweep.row + kB;
  Vector product;  // the block below the diagonal block, times v
  for (std::int64_t c = 0; c < kB; ++c) {
    add_scaled(product, sweep.v[c], load_vector(column(next, sweep.row + c)));
  }
  Vector x = load_vector(column(next, sweep.row));
  add_scaled(x, -sweep.tau * sweep.v[0], product);
  alignas(64) double values[kB];
  store_vector(values, x);
  const double first = values[0];
  values[0] = 0.0;
  x = load_vector(values);
  const Reflector reflector = make_reflector(first, dot(x, x));
  Vector reflected;
  add_scaled(reflected, reflector.scale, x);
  store_vector(values, reflected);
  values[0] = 1.0;
  reflected = load_vector(values);

  double* const first_column = column(next, sweep.row);
  store_vector(first_column, Vector{});
  *first_column = reflector.beta;
  for (std::int64_t c = 1; c < kB; ++c) {
    double* const place = column(next, sweep.row + c);
    Vector col = load_vector(place);
    add_scaled(col, -sweep.tau * sweep.v[c], product);
    add_scaled(col, -reflector.tau * dot(reflected, col), reflected);
    store_vector(place, col);
  }
  store_vector(sweep.v, reflected);
  sweep.tau = reflector.tau;
  sweep.row = next;
}

}  // namespace lime::linalg
