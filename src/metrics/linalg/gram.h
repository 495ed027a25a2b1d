// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "metrics/linalg/sliver_matrix.h"

namespace lime::linalg {

/// Rows of a matrix after an affine map that is applied while they are read:
///
///   z[r, c] = (x[r, c] - shift[c]) * column_scale[c] * row_scale[r]
///
/// A null pointer stands for shift 0 or scale 1. Refers to memory of the caller.
template <typename Scalar>
struct AffineRows {
  const Scalar* x = nullptr;  ///< [num_rows, num_cols], row-major
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t row_stride = 0;
  const double* shift = nullptr;         ///< [num_cols]
  const double* column_scale = nullptr;  ///< [num_cols]
  const double* row_scale = nullptr;     ///< [num_rows]
};

/// Computes Gram matrices of rows, float or double, in double.
///
/// Holds memory for packed operands that serves the next matrix again: one object per thread.
/// The arithmetic, and so every bit, depends on the operands only.
class GramBuilder {
 public:
  /// Z Z^T where num_rows <= num_cols, else Z^T Z: the smaller of the two, which have the same
  /// non-zero eigenvalues. Time n d min(n, d) multiply-adds / 2.
  template <typename Scalar>
  void smaller_gram(const AffineRows<Scalar>& rows, SymmetricSlivers& gram);

  /// K^2 of a symmetric matrix. Time n^3 / 2 multiply-adds.
  void square(const SymmetricSlivers& matrix, SymmetricSlivers& squared);

 private:
  SliverMatrix panel_;
};

/// Sum of the diagonal.
double trace(const SymmetricSlivers& matrix);
/// sum_ij a_ij b_ij = tr(A B) for symmetric matrices of one size; A = B gives the squared
/// Frobenius norm.
double inner_product(const SymmetricSlivers& a, const SymmetricSlivers& b);
/// Sets negative elements to 0.
void clamp_elements(SymmetricSlivers& matrix);

extern template void GramBuilder::smaller_gram(const AffineRows<float>&, SymmetricSlivers&);
extern template void GramBuilder::smaller_gram(const AffineRows<double>&, SymmetricSlivers&);

}  // namespace lime::linalg
