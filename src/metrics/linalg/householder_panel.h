// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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
Reflector make_reflector(double first, double tail_squared);

/// Factors a panel of kBandwidth columns, A = Q R with Q = H_0 H_1 ..., in place.
///
/// @param panel  [num_rows, kBandwidth] row by row. On return the upper triangle contains R; the
///               part below contains the vectors v without their leading 1.
/// @param tau    [kBandwidth]; 0 for columns that need no reflector.
/// One pass over the panel per column: the application of a reflector and the products of the next
/// column with all others share it.
void factor_householder_panel(double* panel, std::int64_t num_rows, double* tau);

}  // namespace lime::linalg
