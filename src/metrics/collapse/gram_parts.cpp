// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/gram_parts.h"

#include <cmath>
#include <limits>

#include "metrics/entropy/matrix_entropy.h"

namespace lime {

GramPart::GramPart(std::int64_t dim) {
  gram_.resize(dim);
  gram_.values().setZero();
}

void GramPart::add(const ConstMatrixRef& rows, const VectorD& shift) {
  linalg::AffineRows<float> shifted = linalg::affine_rows(rows);
  shifted.shift = shift.data();
  builder_.add_feature_gram(shifted, gram_);
}

void GramPart::add(const MatrixD& rows) {
  builder_.add_feature_gram(linalg::affine_rows(rows), gram_);
}

void GramPart::add_rank_one(const VectorD& v, double factor) {
  for (std::int64_t row = 0; row < v.size(); ++row) {
    // Blocks on the diagonal are stored whole.
    const std::int64_t stored = linalg::kPanelRows<double> * (row / linalg::kPanelRows<double> + 1);
    for (std::int64_t col = 0; col < std::min(stored, v.size()); ++col) {
      gram_.at(row, col) += factor * v[row] * v[col];
    }
  }
}

void GramPart::remove_dimensions(const std::vector<int>& dimensions) {
  for (const int removed : dimensions) {
    for (std::int64_t other = 0; other < gram_.size(); ++other) {
      const std::int64_t row = std::max<std::int64_t>(removed, other);
      const std::int64_t col = std::min<std::int64_t>(removed, other);
      gram_.at(row, col) = 0.0;
      if (row / linalg::kPanelRows<double> == col / linalg::kPanelRows<double>)
        gram_.at(col, row) = 0.0;
    }
  }
}

double GramPart::participation_ratio() const {
  const double sum = trace();
  if (!(sum > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  return sum * sum / linalg::inner_product(gram_, gram_);
}

double GramPart::effective_rank(linalg::SymmetricEigenvalues& solver) const {
  const double sum = trace();
  if (!(sum > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  linalg::SymmetricPanels copy;
  copy.resize(gram_.size());
  copy.values() = gram_.values();
  return std::exp(entropy_of_spectrum(solver.compute(copy), sum, 1.0));
}

}  // namespace lime
