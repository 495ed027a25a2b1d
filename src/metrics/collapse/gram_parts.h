// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {

/// A sum of x x^T over vectors x, from which dimensions can be removed.
class GramPart {
 public:
  explicit GramPart(std::int64_t dim);

  /// Adds the rows minus `shift`, [dim].
  void add(const ConstMatrixRef& rows, const VectorD& shift);
  void add(const MatrixD& rows);
  void add(const GramPart& other) { gram_.values() += other.gram_.values(); }
  void subtract(const GramPart& other) { gram_.values() -= other.gram_.values(); }
  /// Adds factor v v^T.
  void add_rank_one(const VectorD& v, double factor);
  void remove_dimensions(const std::vector<int>& dimensions);

  std::int64_t dim() const { return gram_.size(); }
  double trace() const { return linalg::trace(gram_); }
  /// Returns (sum lambda)^2 / sum lambda^2; NaN if the matrix is zero.
  double participation_ratio() const;
  /// Returns exp(-sum p ln p), p = lambda / sum lambda; NaN if the matrix is zero. Time dim^3.
  double effective_rank(linalg::SymmetricEigenvalues& solver) const;

 private:
  linalg::SymmetricPanels gram_;
  linalg::GramBuilder builder_;
};

}  // namespace lime
