// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/symmetric_eigenvalues.h"

#include <cassert>
#include <cmath>
#include <limits>

#include "core/errors.h"

namespace lime::linalg {
namespace {

/// Maximum sweeps per row, as in LAPACK; 1.7 are typical.
constexpr std::int64_t kSweepsPerRow = 30;
/// A squared off-diagonal element below this times the product of its two diagonal neighbours
/// counts as 0: the square of half the distance from 1 to the next double.
constexpr double kNegligible =
    std::numeric_limits<double>::epsilon() * std::numeric_limits<double>::epsilon() / 4.0;
/// Cosines and squared elements below this count as 0; reciprocals stay finite.
constexpr double kTiny = 1e-290;
/// Elements with exponents within these bounds can be squared without scaling.
constexpr int kLargestExponent = 64;

bool is_negligible(double squared, double above, double below) {
  return squared <= std::max(kNegligible * std::abs(above * below), kTiny);
}

/// Returns the exponent of the largest element, or 0 if no scaling is needed.
int exponent_to_remove(const Tridiagonal& matrix) {
  double largest = 0.0;
  for (const double value : matrix.diagonal) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i + 1 < matrix.diagonal.size(); ++i) {
    largest = std::max(largest, std::abs(matrix.subdiagonal[i]));
  }
  if (largest == 0.0) return 0;
  const int exponent = std::ilogb(largest);
  return std::abs(exponent) <= kLargestExponent ? 0 : exponent;
}

/// Variables of a sweep from the last row of a block up to its first, with dsterf's names.
struct SweepState {
  Simd first{std::numeric_limits<double>::infinity()};  ///< of the block; idle lanes have none
  Simd last{0.0};
  Simd sigma{0.0};  ///< shift
  Simd cosine{1.0};
  Simd sine{0.0};  ///< both squared
  Simd gamma{1.0};
  Simd p{1.0};
  Simd below{0.0};  ///< last finished diagonal element
  Simd split{0.0};  ///< first row after which the block splits, and the one after that
  Simd next_split{0.0};
};

/// Steps from `row + 1` to `row`, in the lanes whose block contains both.
[[gnu::always_inline]] inline void step_up(SweepState& state, std::int64_t row, double* diagonals,
                                           double* squares) {
  const Simd number(static_cast<double>(row));
  const auto inside = state.first <= number && number < state.last;
  const Simd alpha = load(diagonals + row * kLanes);
  const Simd beta = load(squares + row * kLanes);
  const Simd r = state.p + beta;
  const Simd inverse = 1.0 / r;
  const Simd ratio = r / state.p;  // 1 / cosine; concurrent with the other division
  const Simd cosine = state.p * inverse;
  const Simd sine = beta * inverse;
  const Simd gamma = cosine * (alpha - state.sigma) - sine * state.gamma;
  Simd p = gamma * gamma * ratio;
  std::experimental::where(cosine < kTiny, p) = state.cosine * beta;

  const Simd on_diagonal = state.gamma + (alpha - gamma);
  Simd beside = state.sine * r;
  const Simd bound = std::experimental::max(
      kNegligible * std::experimental::abs(on_diagonal * state.below), Simd(kTiny));
  const auto splits = inside && beside <= bound;
  std::experimental::where(splits, beside) = 0.0;
  std::experimental::where(splits, state.next_split) = state.split;
  std::experimental::where(splits, state.split) = number + 1.0;
  std::experimental::where(inside, on_diagonal)
      .copy_to(diagonals + (row + 1) * kLanes, std::experimental::element_aligned);
  std::experimental::where(inside, beside)
      .copy_to(squares + (row + 1) * kLanes, std::experimental::element_aligned);

  std::experimental::where(inside, state.below) = on_diagonal;
  std::experimental::where(inside, state.cosine) = cosine;
  std::experimental::where(inside, state.sine) = sine;
  std::experimental::where(inside, state.gamma) = gamma;
  std::experimental::where(inside, state.p) = p;
}

/// Scales the largest element of the matrix to about 1 by a power of two, which is exact, so that
/// squares of its elements neither overflow nor underflow. Returns the exponent.
int scale_to_unit_range(SymmetricPanels& matrix) {
  double largest = 0.0;
  for (const double value : matrix.values()) {
    // This form propagates NaN.
    if (!(std::abs(value) <= largest)) largest = std::abs(value);
  }
  throw_if<NumericalError>(!std::isfinite(largest),
                           "eigenvalues: the matrix must be finite, got an element of {}", largest);
  if (largest == 0.0) return 0;
  const int exponent = std::ilogb(largest);
  if (exponent > -64 && exponent < 64) return 0;
  for (double& value : matrix.values()) value = std::ldexp(value, -exponent);
  return exponent;
}

}  // namespace

std::vector<std::int64_t> TridiagonalEigenvalues::compute(std::span<Tridiagonal* const> matrices) {
  std::vector<std::int64_t> missing;
  while (!matrices.empty()) {
    const std::size_t count = std::min<std::size_t>(matrices.size(), kLanes);
    std::size_t largest = 0;
    for (const Tridiagonal* matrix : matrices.first(count)) {
      largest = std::max(largest, matrix->diagonal.size());
    }
    // One more row, because the last sweep writes below its block.
    diagonals_.resize_zeroed((largest + 1) * kLanes);
    squares_.resize_zeroed((largest + 1) * kLanes);
    for (std::size_t i = 0; i < count; ++i) load(static_cast<int>(i), *matrices[i]);
    std::uint32_t working = (1U << count) - 1;
    while (true) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bit = 1U << i;
        if ((working & bit) != 0 && !prepare_sweep(static_cast<int>(i))) working &= ~bit;
      }
      if (working == 0) break;
      sweep(working);
    }
    for (std::size_t i = 0; i < count; ++i) {
      missing.push_back(lanes_[i].size - lanes_[i].first);
      unload(static_cast<int>(i), *matrices[i]);
    }
    matrices = matrices.subspan(count);
  }
  return missing;
}

/// Reverses the rows if the larger end of the diagonal is at the top, as in dsterf.
void TridiagonalEigenvalues::load(int lane, const Tridiagonal& matrix) {
  const auto size = static_cast<std::int64_t>(matrix.diagonal.size());
  assert(matrix.subdiagonal.size() + 1 >= matrix.diagonal.size());
  const int scaled = exponent_to_remove(matrix);
  const bool reverse =
      size > 0 && std::abs(matrix.diagonal.back()) < std::abs(matrix.diagonal.front());
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t row = reverse ? size - 1 - i : i;
    const double value = matrix.diagonal[static_cast<std::size_t>(row)];
    diagonal(lane, i) = scaled == 0 ? value : std::ldexp(value, -scaled);
    if (i + 1 == size) break;
    const double beside = matrix.subdiagonal[static_cast<std::size_t>(reverse ? row - 1 : row)];
    const double e = scaled == 0 ? beside : std::ldexp(beside, -scaled);
    squared(lane, i) = e * e;
  }
  lanes_[lane] = {.size = size,
                  .first = 0,
                  .last = -1,
                  .next_last = -1,
                  .sweeps_left = kSweepsPerRow * size,
                  .exponent = scaled + matrix.exponent,
                  .shift = 0.0};
}

void TridiagonalEigenvalues::unload(int lane, Tridiagonal& matrix) {
  const int exponent = lanes_[lane].exponent;
  for (std::size_t i = 0; i < matrix.diagonal.size(); ++i) {
    const double value = diagonal(lane, static_cast<std::int64_t>(i));
    matrix.diagonal[i] = exponent == 0 ? value : std::ldexp(value, exponent);
  }
  matrix.exponent = 0;
  std::ranges::sort(matrix.diagonal);
}

/// Removes the blocks of one and two rows at the top, and computes the shift for the next one.
/// Returns whether there is one, and sweeps are left.
bool TridiagonalEigenvalues::prepare_sweep(int index) {
  Lane& lane = lanes_[index];
  while (lane.first < lane.size) {
    if (lane.last < lane.first) {
      lane.last = lane.next_last > lane.last ? lane.next_last : end_of_block(index, lane.first);
      lane.next_last = -1;
    }
    const std::int64_t rows = lane.last - lane.first + 1;
    if (rows > 2) {
      if (lane.sweeps_left-- == 0) return false;
      lane.shift = wilkinson_shift(index);
      return true;
    }
    if (rows == 2) solve_pair(index, lane.first);
    lane.first += rows;
  }
  return false;
}

std::int64_t TridiagonalEigenvalues::end_of_block(int lane, std::int64_t first) const {
  const std::int64_t end = lanes_[lane].size - 1;
  std::int64_t row = first;
  while (row < end &&
         !is_negligible(squared(lane, row), diagonal(lane, row), diagonal(lane, row + 1))) {
    ++row;
  }
  return row;
}

/// Computes the two eigenvalues of the block of `row` and the next one. The one of larger magnitude
/// has no cancellation; the other follows from the determinant.
void TridiagonalEigenvalues::solve_pair(int lane, std::int64_t row) {
  double& a = diagonal(lane, row);
  double& c = diagonal(lane, row + 1);
  const double b = std::sqrt(squared(lane, row));
  const double sum = a + c;
  const double root = std::hypot(a - c, 2.0 * b);
  const double outer = 0.5 * (sum + std::copysign(root, sum));
  const double larger = std::abs(a) > std::abs(c) ? a : c;
  const double smaller = std::abs(a) > std::abs(c) ? c : a;
  const double inner = outer == 0.0 ? 0.0 : (larger / outer) * smaller - (b / outer) * b;
  a = outer;
  c = inner;
}

/// Returns the eigenvalue of the block's first two rows closer to the first diagonal element.
double TridiagonalEigenvalues::wilkinson_shift(int lane) const {
  const std::int64_t first = lanes_[lane].first;
  const double p = diagonal(lane, first);
  const double beside = std::sqrt(squared(lane, first));
  const double half = (diagonal(lane, first + 1) - p) / (2.0 * beside);
  // If the square overflows, the shift is p, as it should be.
  return p - beside / (half + std::copysign(std::sqrt(half * half + 1.0), half));
}

/// Runs one QL sweep in each of the lanes `active`, upwards.
void TridiagonalEigenvalues::sweep(std::uint32_t active) {
  SweepState state;
  std::int64_t top = std::numeric_limits<std::int64_t>::max();
  std::int64_t bottom = 0;
  for (int i = 0; i < kLanes; ++i) {
    if ((active >> i & 1U) == 0) continue;
    const Lane& lane = lanes_[i];
    top = std::min(top, lane.first);
    bottom = std::max(bottom, lane.last);
    state.first[i] = static_cast<double>(lane.first);
    state.last[i] = static_cast<double>(lane.last);
    state.sigma[i] = lane.shift;
    state.gamma[i] = diagonal(i, lane.last) - lane.shift;
    state.p[i] = state.gamma[i] * state.gamma[i];
  }
  state.split = state.last;
  state.next_split = -1.0;
  for (std::int64_t row = bottom - 1; row >= top; --row) {
    step_up(state, row, diagonals_.data(), squares_.data());
  }
  for (int i = 0; i < kLanes; ++i) {
    if ((active >> i & 1U) == 0) continue;
    Lane& lane = lanes_[i];
    const double on_diagonal = state.sigma[i] + state.gamma[i];
    const double beside = state.sine[i] * state.p[i];
    diagonal(i, lane.first) = on_diagonal;
    squared(i, lane.first) = beside;
    lane.last = static_cast<std::int64_t>(state.split[i]);
    lane.next_last = static_cast<std::int64_t>(state.next_split[i]);
    if (!is_negligible(beside, on_diagonal, diagonal(i, lane.first + 1))) continue;
    squared(i, lane.first) = 0.0;
    lane.next_last = lane.last;
    lane.last = lane.first;
  }
}

std::span<const double> SymmetricEigenvalues::compute(SymmetricPanels& matrix) {
  reduce(matrix, tridiagonal_);
  Tridiagonal* const tridiagonal[] = {&tridiagonal_};
  const std::int64_t missing = tridiagonal_eigenvalues_.compute(tridiagonal).front();
  throw_if<NumericalError>(missing != 0, "eigenvalues: {} of {} did not converge", missing,
                           matrix.size());
  return tridiagonal_.diagonal;
}

void SymmetricEigenvalues::reduce(SymmetricPanels& matrix, Tridiagonal& tridiagonal) {
  const auto size = static_cast<std::size_t>(matrix.size());
  tridiagonal.exponent = scale_to_unit_range(matrix);
  tridiagonal.diagonal.resize(size);
  tridiagonal.subdiagonal.resize(size);
  band_reduction_.reduce(matrix);
  band_to_tridiagonal_.reduce(matrix, tridiagonal.diagonal, tridiagonal.subdiagonal);
}

}  // namespace lime::linalg
