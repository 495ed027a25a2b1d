// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_panels.h"

namespace lime {

/// Accumulates count, sum and Gram matrix of shifted rows in one pass.
///
///   y_i = x_i - shift,   S = sum_i y_i,   G = sum_i y_i y_i^T
///   centred:  C = G - S S^T / n            n times the covariance
///   raw:      A^T A = C + n mean mean^T,   mean = shift + S / n
///
/// A shift near the mean avoids cancellation in the centred matrix if the mean is large relative to
/// the spread, as in language models. In double; not thread-safe. Memory dim^2 / 2 doubles.
class RowMoments {
 public:
  /// @param shift  [dim], e.g. the mean from a capture's statistics.
  explicit RowMoments(VectorD shift);
  /// Uses sums that were computed elsewhere.
  /// @param gram  G, [dim, dim], symmetric; its lower triangle is read.
  RowMoments(VectorD shift, std::int64_t count, VectorD sum, const ConstMatrixRefD& gram);

  /// Adds rows, [num_rows, dim]. Time num_rows dim^2 / 2 multiply-adds.
  void add(const ConstMatrixRef& rows);
  void merge(const RowMoments& other);  ///< of the same shift

  /// Frees the scratch memory of add(), which may be called again.
  void release_scratch() { builder_ = {}; }

  std::int64_t count() const { return count_; }
  std::int64_t dim() const { return shift_.size(); }
  VectorD mean() const;
  /// Returns n times the covariance; raw_gram() returns A^T A.
  linalg::SymmetricPanels centred_gram() const;
  linalg::SymmetricPanels raw_gram() const;

 private:
  VectorD shift_;
  VectorD sum_;
  std::int64_t count_ = 0;
  linalg::SymmetricPanels gram_;
  linalg::GramBuilder builder_;
};

}  // namespace lime
