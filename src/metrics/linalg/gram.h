// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "linalg/panels.h"
#include "metrics/linalg/symmetric_panels.h"

namespace lime::linalg {

/// Rows of a matrix with an affine map that is applied on access:
///
///   z[r, c] = (x[r, c] - shift[c]) * column_scale[c] * row_scale[r]
///
/// A null pointer stands for shift 0 or scale 1. Refers to memory of the caller.
template <typename Scalar> struct AffineRows {
  const Scalar* x = nullptr;  ///< [num_rows, num_cols], row-major
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t row_stride = 0;
  const double* shift = nullptr;         ///< [num_cols]
  const double* column_scale = nullptr;  ///< [num_cols]
  const double* row_scale = nullptr;     ///< [num_rows]

  double at(std::int64_t row, std::int64_t col) const {
    double z = static_cast<double>(x[row * row_stride + col]);
    if (shift != nullptr) z -= shift[col];
    if (column_scale != nullptr) z *= column_scale[col];
    if (row_scale != nullptr) z *= row_scale[row];
    return z;
  }

  /// Copies Z to `z`, which is resized.
  void copy_to(MatrixD& z) const {
    z.resize(num_rows, num_cols);
    for (std::int64_t r = 0; r < num_rows; ++r) {
      for (std::int64_t c = 0; c < num_cols; ++c) z(r, c) = at(r, c);
    }
  }
};

/// Returns the rows of a row-major matrix, without shift and scales.
template <typename Matrix> AffineRows<typename Matrix::Scalar> affine_rows(const Matrix& rows) {
  return {.x = rows.data(),
          .num_rows = rows.rows(),
          .num_cols = rows.cols(),
          .row_stride = rows.outerStride()};
}

/// Computes Gram matrices of float or double rows in double. One object per thread.
class GramBuilder {
 public:
  /// Computes Z Z^T if num_rows <= num_cols, else Z^T Z: the smaller of the two, which have the
  /// same non-zero eigenvalues. Time n d min(n, d) multiply-adds / 2.
  template <typename Scalar>
  void smaller_gram(const AffineRows<Scalar>& rows, SymmetricPanels& gram);

  /// Computes gram += Z^T Z, for rows that are added in pieces. Time n d^2 / 2 multiply-adds.
  /// @param gram  of size num_cols, initialised (by values().setZero() at first).
  template <typename Scalar>
  void add_feature_gram(const AffineRows<Scalar>& rows, SymmetricPanels& gram);

  /// Computes product = X^T Y for two sets of the same number of rows, [x.num_cols, y.num_cols
  /// padded with zeros to whole panels]. Time n d_x d_y multiply-adds.
  template <typename Scalar>
  void cross_gram(const AffineRows<Scalar>& x, const AffineRows<Scalar>& y,
                  Panels<double>& product);

  void outer_gram(const Panels<double>& matrix, SymmetricPanels& gram);

  /// Computes K^2 of a symmetric matrix. Time n^3 / 2 multiply-adds.
  void square(const SymmetricPanels& matrix, SymmetricPanels& squared);

 private:
  Panels<double> panel_;
  Panels<double> other_panel_;
};

double trace(const SymmetricPanels& matrix);
double squared_norm(const Panels<double>& matrix);
/// Returns sum_ij a_ij b_ij = tr(A B) for symmetric matrices of one size.
double inner_product(const SymmetricPanels& a, const SymmetricPanels& b);
void clamp_elements(SymmetricPanels& matrix);

}  // namespace lime::linalg
