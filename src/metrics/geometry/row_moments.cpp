// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/row_moments.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"

namespace lime {
namespace {

std::int64_t num_values(const linalg::SymmetricSlivers& matrix) {
  return matrix.sliver(matrix.num_slivers()) - matrix.sliver(0);
}

}  // namespace

void add_matrix(linalg::SymmetricSlivers& target, const linalg::SymmetricSlivers& other) {
  double* const to = target.sliver(0);
  const double* const from = other.sliver(0);
  const std::int64_t count = num_values(target);
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

linalg::SymmetricSlivers copy_of(const linalg::SymmetricSlivers& matrix) {
  linalg::SymmetricSlivers copy;
  copy.resize(matrix.size());
  std::copy_n(matrix.sliver(0), num_values(matrix), copy.sliver(0));
  return copy;
}

void add_rank_one(linalg::SymmetricSlivers& target, const VectorD& v, double factor) {
  VectorD padded = VectorD::Zero(target.padded_size());
  padded.head(v.size()) = v;
  for (std::int64_t s = 0; s < target.num_slivers(); ++s) {
    double* to = target.sliver(s);
    const double* const rows = padded.data() + s * linalg::kSliverRows;
    for (std::int64_t col = 0; col < linalg::kSliverRows * (s + 1); ++col) {
      const double scale = factor * padded[col];
      for (int r = 0; r < linalg::kSliverRows; ++r) *to++ += scale * rows[r];
    }
  }
}

RowMoments::RowMoments(VectorD shift)
    : shift_(std::move(shift)), sum_(VectorD::Zero(shift_.size())) {
  gram_.resize(shift_.size());
  gram_.set_zero();
}

void RowMoments::add(const ConstMatrixRef& rows) {
  if (rows.cols() != shift_.size()) {
    throw InvalidArgument("moments: rows must have {} dimensions, got {}", shift_.size(),
                          rows.cols());
  }
  builder_.add_feature_gram(linalg::AffineRows<float>{.x = rows.data(),
                                                      .num_rows = rows.rows(),
                                                      .num_cols = rows.cols(),
                                                      .row_stride = rows.outerStride(),
                                                      .shift = shift_.data()},
                            gram_);
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    sum_ += rows.row(r).transpose().cast<double>() - shift_;
  }
  count_ += rows.rows();
}

void RowMoments::merge(const RowMoments& other) {
  add_matrix(gram_, other.gram_);
  sum_ += other.sum_;
  count_ += other.count_;
}

VectorD RowMoments::mean() const { return shift_ + sum_ / static_cast<double>(count_); }

linalg::SymmetricSlivers RowMoments::with_rank_one(const VectorD& vector, double factor) const {
  linalg::SymmetricSlivers result = copy_of(gram_);
  add_rank_one(result, vector, factor);
  return result;
}

linalg::SymmetricSlivers RowMoments::centred_gram() const {
  return with_rank_one(sum_, -1.0 / static_cast<double>(count_));
}

linalg::SymmetricSlivers RowMoments::raw_gram() const {
  linalg::SymmetricSlivers result = centred_gram();
  add_rank_one(result, mean(), static_cast<double>(count_));
  return result;
}

}  // namespace lime
