// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/symmetric_eigenvalues.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "metrics/linalg/lapack.h"

namespace lime::linalg {
namespace {

/// Brings the largest element of the matrix near 1 by a power of two, which rounds nothing, so
/// that squares of its elements neither overflow nor vanish. Returns the exponent.
int scale_to_unit_range(SymmetricSlivers& matrix) {
  double* const begin = matrix.sliver(0);
  double* const end = matrix.sliver(matrix.num_slivers());
  double largest = 0.0;
  for (const double* value = begin; value != end; ++value) {
    // Written so that NaN is kept.
    if (!(std::abs(*value) <= largest)) largest = std::abs(*value);
  }
  if (!std::isfinite(largest)) {
    throw NumericalError("eigenvalues: the matrix must be finite, got an element of {}", largest);
  }
  if (largest == 0.0) return 0;
  const int exponent = std::ilogb(largest);
  if (exponent > -64 && exponent < 64) return 0;
  for (double* value = begin; value != end; ++value) *value = std::ldexp(*value, -exponent);
  return exponent;
}

}  // namespace

std::span<const double> SymmetricEigenvalues::compute(SymmetricSlivers& matrix) {
  const auto size = static_cast<std::size_t>(matrix.size());
  const int exponent = scale_to_unit_range(matrix);
  diagonal_.resize(size);
  subdiagonal_.resize(size);
  band_reduction_.reduce(matrix);
  band_to_tridiagonal_.reduce(matrix, diagonal_, subdiagonal_);
  const int n = static_cast<int>(size);
  int info = 0;
  dsterf_(&n, diagonal_.data(), subdiagonal_.data(), &info);
  if (info != 0) {
    throw NumericalError("eigenvalues: {} of {} did not converge in dsterf", info, n);
  }
  if (exponent != 0) {
    for (double& value : diagonal_) value = std::ldexp(value, exponent);
  }
  return diagonal_;
}

}  // namespace lime::linalg
