// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace lime::linalg {

/// A reflector H = I - tau v v^T, v[0] = 1, with H x = beta e_0.
struct Reflector {
  double tau = 0.0;    ///< 0: H = I
  double beta = 0.0;   ///< new value of x[0]
  double scale = 0.0;  ///< v[i] = scale * x[i] for i > 0
};

/// Computes the reflector of a vector x.
/// @param first         x[0].
/// @param tail_squared  sum of x[i]^2 for i > 0.
/// Source: Golub & Van Loan, Matrix Computations, 4th ed., section 5.1.3, in LAPACK's sign.
inline Reflector make_reflector(double first, double tail_squared) {
  if (tail_squared == 0.0) return {0.0, first, 0.0};
  const double beta = -std::copysign(std::sqrt(first * first + tail_squared), first);
  return {(beta - first) / beta, beta, 1.0 / (first - beta)};
}

}  // namespace lime::linalg
