// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/row_moments.h"

#include <utility>

#include "core/errors.h"

namespace lime {
namespace {

/// Computes target += factor v v^T. @param v  [target.size()]
void add_rank_one(linalg::SymmetricPanels& target, const VectorD& v, double factor) {
  VectorD padded = VectorD::Zero(target.padded_size());
  padded.head(v.size()) = v;
  for (std::int64_t s = 0; s < target.num_panels(); ++s) {
    double* to = target.panel(s);
    const double* const rows = padded.data() + s * linalg::kPanelRows<double>;
    for (std::int64_t col = 0; col < linalg::kPanelRows<double> * (s + 1); ++col) {
      const double scale = factor * padded[col];
      for (int r = 0; r < linalg::kPanelRows<double>; ++r) *to++ += scale * rows[r];
    }
  }
}

}  // namespace

RowMoments::RowMoments(VectorD shift)
    : shift_(std::move(shift)), sum_(VectorD::Zero(shift_.size())) {
  gram_.resize(shift_.size());
  gram_.values().setZero();
}

RowMoments::RowMoments(VectorD shift, std::int64_t count, VectorD sum, const ConstMatrixRefD& gram)
    : RowMoments(std::move(shift)) {
  const std::int64_t dim = shift_.size();
  throw_if(sum.size() != dim || gram.rows() != dim || gram.cols() != dim,
           "moments: sum and Gram matrix must have {} dimensions, got {}, {} x {}", dim, sum.size(),
           gram.rows(), gram.cols());
  count_ = count;
  sum_ = std::move(sum);
  for (std::int64_t row = 0; row < dim; ++row) {
    for (std::int64_t col = 0; col <= row; ++col) {
      gram_.at(row, col) = gram(row, col);
      // Blocks on the diagonal are stored whole.
      if (col / linalg::kPanelRows<double> == row / linalg::kPanelRows<double>)
        gram_.at(col, row) = gram(row, col);
    }
  }
}

void RowMoments::add(const ConstMatrixRef& rows) {
  throw_if(rows.cols() != shift_.size(), "moments: rows must have {} dimensions, got {}",
           shift_.size(), rows.cols());
  linalg::AffineRows<float> shifted = linalg::affine_rows(rows);
  shifted.shift = shift_.data();
  builder_.add_feature_gram(shifted, gram_);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    sum_ += rows.row(r).transpose().cast<double>() - shift_;
  }
  count_ += rows.rows();
}

void RowMoments::merge(const RowMoments& other) {
  gram_.values() += other.gram_.values();
  sum_ += other.sum_;
  count_ += other.count_;
}

VectorD RowMoments::mean() const { return shift_ + sum_ / static_cast<double>(count_); }

linalg::SymmetricPanels RowMoments::centred_gram() const {
  linalg::SymmetricPanels result;
  result.resize(gram_.size());
  result.values() = gram_.values();
  add_rank_one(result, sum_, -1.0 / static_cast<double>(count_));
  return result;
}

linalg::SymmetricPanels RowMoments::raw_gram() const {
  linalg::SymmetricPanels result = centred_gram();
  add_rank_one(result, mean(), static_cast<double>(count_));
  return result;
}

}  // namespace lime
