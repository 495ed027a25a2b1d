// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/band_to_tridiagonal.h"

#include <array>
#include <utility>

#include "metrics/linalg/reflector.h"

namespace lime::linalg {
namespace {

constexpr std::int64_t kB = kBandwidth;
constexpr int kVectors = static_cast<int>(kBandwidth) / kLanes;

/// kBandwidth values in registers.
struct Vector {
  Simd value[kVectors] = {};
};

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

void BandToTridiagonal::reduce(const SymmetricPanels& matrix, std::span<double> diagonal,
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

void BandToTridiagonal::copy_band(const SymmetricPanels& matrix) {
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
