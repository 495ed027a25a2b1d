// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/householder_panel.h"

#include <algorithm>
#include <cmath>

#include "metrics/linalg/band_reduction.h"
#include "metrics/linalg/simd.h"

namespace lime::linalg {
namespace {

constexpr int kVectors = static_cast<int>(kBandwidth) / kLanes;

/// One row of the panel: kBandwidth values in registers.
struct Row {
  Simd value[kVectors] = {};
};

/// Computes dots[c] = sum over rows > column of panel[r, column] panel[r, c].
void dot_with_column(const double* panel, std::int64_t num_rows, std::int64_t column,
                     double* dots) {
  Row sums;
  for (std::int64_t r = column + 1; r < num_rows; ++r) {
    const double* const row = panel + r * kBandwidth;
    const Simd x(row[column]);
    for (int i = 0; i < kVectors; ++i) sums.value[i] += x * load(row + i * kLanes);
  }
  for (int i = 0; i < kVectors; ++i) store(dots + i * kLanes, sums.value[i]);
}

/// For rows > column: panel[r, :] -= scale panel[r, column] w, and panel[r, column] becomes v[r].
/// Processes columns from kFirst * kLanes on; w is 0 up to `column`. Accumulates dots[c] for column
/// + 1 at the same time.
template <int kFirst>
void apply_and_dot(double* panel, std::int64_t num_rows, std::int64_t column, double scale,
                   const double* w, double* dots) {
  Row update;
  Row sums;
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
template <int kFirst = 0>
ApplyFn apply_from(std::int64_t column) {
  if constexpr (kFirst + 1 < kVectors) {
    if (column >= (kFirst + 1) * kLanes) return apply_from<kFirst + 1>(column);
  }
  return &apply_and_dot<kFirst>;
}

}  // namespace

Reflector make_reflector(double first, double tail_squared) {
  if (tail_squared == 0.0) return {0.0, first, 0.0};
  const double beta = -std::copysign(std::sqrt(first * first + tail_squared), first);
  return {(beta - first) / beta, beta, 1.0 / (first - beta)};
}

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

}  // namespace lime::linalg
