// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/sliver_matrix.h"

namespace lime {

/// Accumulates count, sum and Gram matrix of shifted rows in one pass; the rows need not be in
/// memory together.
///
///   y_i = x_i - shift,   S = sum_i y_i,   G = sum_i y_i y_i^T
///   centred:  C = G - S S^T / n            n times the covariance
///   raw:      A^T A = C + n mean mean^T,   mean = shift + S / n
///
/// A shift near the mean avoids cancellation in the centred matrix if the mean is large relative to
/// the spread, as in language models. In double; the result depends only on the order of the calls.
/// Not thread-safe. Memory dim^2 / 2 doubles.
class RowMoments {
 public:
  /// @param shift  [dim], e.g. the mean from a capture's statistics.
  explicit RowMoments(VectorD shift);

  /// Adds rows, [num_rows, dim]. Time num_rows dim^2 / 2 multiply-adds.
  void add(const ConstMatrixRef& rows);
  /// Adds the rows accumulated by `other`, which has the same shift.
  void merge(const RowMoments& other);

  /// Frees the scratch memory of add(), which may be called again.
  void release_scratch() { builder_ = {}; }

  std::int64_t count() const { return count_; }
  std::int64_t dim() const { return shift_.size(); }
  VectorD mean() const;
  /// Returns n times the covariance; raw_gram() returns A^T A. Their eigenvalues are squared
  /// singular values.
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

/// Computes target += factor v v^T. @param v  [target.size()]
void add_rank_one(linalg::SymmetricSlivers& target, const VectorD& v, double factor);
/// Computes target += other, of the same size.
void add_matrix(linalg::SymmetricSlivers& target, const linalg::SymmetricSlivers& other);
/// Copies a matrix, so that eigenvalue solvers may overwrite the copy.
linalg::SymmetricSlivers copy_of(const linalg::SymmetricSlivers& matrix);

}  // namespace lime
