// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/matrix.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {

/// The rows of one layer with the precomputed terms of every comparison.
struct ComparableRows {
  MatrixF rows;                        ///< [num_rows, dim]; row i is the same token in every layer
  VectorD mean;                        ///< [dim]
  VectorD squared_lengths;             ///< of the centred rows, [num_rows]
  VectorD lengths;                     ///< of the rows, not centred, [num_rows]
  std::vector<std::int32_t> sequence;  ///< of each row, ascending; empty: unknown
  double squared_norm = 0.0;           ///< |X|_F^2 of the centred rows
  double gram_norm = 0.0;              ///< |X^T X|_F of the centred rows
  double debiased_self = 0.0;  ///< debiased HSIC of the rows with themselves, times n (n - 3)
};

/// Prepares rows for RowComparison, or without their Gram matrix for layer_change() only.
/// @throws InvalidArgument  if there are < 4 rows, one is not finite, or all are equal.
ComparableRows comparable_rows(MatrixF rows, std::vector<std::int32_t> sequence = {},
                               bool with_gram = true);

/// Similarity of two sets of representations of the same tokens.
struct RowSimilarity {
  /// Linear CKA, in [0, 1]: |X^T Y|_F^2 / (|X^T X|_F |Y^T Y|_F), X and Y centred. Biased upwards
  /// for few rows: about dim / num_rows for unrelated ones.
  /// Source: Kornblith, Norouzi, Lee & Hinton (2019), eq. 2 to 4.
  double cka = 0.0;
  /// CKA with the unbiased estimate of HSIC; about 0 for unrelated rows, and may be negative. Unset
  /// if the estimate of one set with itself is not positive, as with very few rows.
  /// Source: Song et al. (2012), eq. 5, in the feature-space form of Kornblith's code.
  std::optional<double> cka_debiased;
  /// Orthogonal Procrustes distance, in [0, 2]: |A|_F^2 + |B|_F^2 - 2 |A^T B|_*, A and B centred
  /// and with Frobenius norm 1. 0 if an orthogonal map takes one to the other.
  /// Source: Ding, Denain & Steinhardt (2021), section 2.
  double procrustes = std::numeric_limits<double>::quiet_NaN();
};

/// Compares sets of rows in double, in reused memory: one object per thread. Time n d^2
/// multiply-adds and the eigenvalues of a d x d matrix.
class RowComparison {
 public:
  /// @param with_procrustes  false: leaves `procrustes` NaN and saves its eigenvalues.
  /// @throws InvalidArgument  if the numbers of rows differ.
  RowSimilarity compare(const ComparableRows& x, const ComparableRows& y,
                        bool with_procrustes = true);

 private:
  linalg::GramBuilder builder_;
  linalg::Panels<double> cross_;
  linalg::SymmetricPanels gram_;
  linalg::SymmetricEigenvalues solver_;
};

}  // namespace lime
