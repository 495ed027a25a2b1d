// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/sliver_matrix.h"

namespace lime {

/// Count, sum and Gram matrix of rows about a shift, gathered in one pass over rows that need not
/// be in memory together.
///
///   y_i = x_i - shift,   S = sum_i y_i,   G = sum_i y_i y_i^T
///   centred:  C = G - S S^T / n            n times the covariance
///   raw:      A^T A = C + n mean mean^T,   mean = shift + S / n
///
/// A shift near the mean keeps the centred matrix from cancelling where the mean is large beside
/// the spread, as it is in language models. In double; the bits depend on the order of the calls
/// only. Not thread-safe. Memory dim^2 / 2 doubles.
class RowMoments {
 public:
  /// @param shift  [dim], e.g. the mean that a capture's statistics hold.
  explicit RowMoments(VectorD shift);

  /// Adds rows, [num_rows, dim]. Time num_rows dim^2 / 2 multiply-adds.
  void add(const ConstMatrixRef& rows);
  /// Adds what `other`, with the same shift, has seen.
  void merge(const RowMoments& other);

  /// Gives back what only add() needs; it may be called again.
  void release_scratch() { builder_ = {}; }

  std::int64_t count() const { return count_; }
  std::int64_t dim() const { return shift_.size(); }
  VectorD mean() const;
  /// n times the covariance, and A^T A. Their eigenvalues are squared singular values.
  linalg::SymmetricSlivers centred_gram() const;
  linalg::SymmetricSlivers raw_gram() const;

 private:
  linalg::SymmetricSlivers with_rank_one(const VectorD& vector, double factor) const;

  VectorD shift_;
  VectorD sum_;
  std::int64_t count_ = 0;
  linalg::SymmetricSlivers gram_;
  linalg::GramBuilder builder_;
};

/// target += factor v v^T. @param v  [target.size()]
void add_rank_one(linalg::SymmetricSlivers& target, const VectorD& v, double factor);
/// target += other, of the same size.
void add_matrix(linalg::SymmetricSlivers& target, const linalg::SymmetricSlivers& other);
/// A copy of a matrix, which eigenvalue solvers then may destroy.
linalg::SymmetricSlivers copy_of(const linalg::SymmetricSlivers& matrix);

}  // namespace lime
