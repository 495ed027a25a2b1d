// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/similarity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.h"
#include "metrics/rows.h"

namespace lime {
namespace {

constexpr Eigen::Index kFewestRows = 4;

linalg::AffineRows<float> centred(const ComparableRows& x) {
  linalg::AffineRows<float> rows = linalg::affine_rows(x.rows);
  rows.shift = x.mean.data();
  return rows;
}

/// Returns n (n - 3) times the unbiased estimate of HSIC for linear kernels of centred rows.
double debiased_hsic(double squared_cross_norm, const ComparableRows& x, const ComparableRows& y) {
  const auto n = static_cast<double>(x.rows.rows());
  return squared_cross_norm - n / (n - 2.0) * x.squared_lengths.dot(y.squared_lengths) +
         x.squared_norm * y.squared_norm / ((n - 1.0) * (n - 2.0));
}

}  // namespace

ComparableRows comparable_rows(MatrixF rows, std::vector<std::int32_t> sequence, bool with_gram) {
  throw_if(rows.rows() < kFewestRows, "similarity: needs at least {} rows, got {}", kFewestRows,
           rows.rows());
  check_finite_rows(rows);
  ComparableRows x;
  x.rows = std::move(rows);
  x.mean = mean_row(x.rows);
  x.sequence = std::move(sequence);
  x.squared_lengths.resize(x.rows.rows());
  x.lengths.resize(x.rows.rows());
  for (Eigen::Index r = 0; r < x.rows.rows(); ++r) {
    x.lengths[r] = x.rows.row(r).cast<double>().norm();
    x.squared_lengths[r] = (x.rows.row(r).transpose().cast<double>() - x.mean).squaredNorm();
  }
  x.squared_norm = x.squared_lengths.sum();
  const bool all_equal = (x.rows.rowwise() - x.rows.row(0)).cwiseAbs().maxCoeff() == 0.0F;
  throw_if(all_equal || !(x.squared_norm > 0.0),
           "similarity: all {} rows are equal, so their similarity is undefined", x.rows.rows());
  if (!with_gram) return x;
  linalg::SymmetricPanels gram;
  linalg::GramBuilder().smaller_gram(centred(x), gram);
  const double squared_gram_norm = linalg::inner_product(gram, gram);
  x.gram_norm = std::sqrt(squared_gram_norm);
  x.debiased_self = debiased_hsic(squared_gram_norm, x, x);
  return x;
}

RowSimilarity RowComparison::compare(const ComparableRows& x, const ComparableRows& y,
                                     bool with_procrustes) {
  throw_if(x.rows.rows() != y.rows.rows(),
           "similarity: both inputs must have the same number of rows, got {} and {}",
           x.rows.rows(), y.rows.rows());
  const bool x_is_smaller = x.rows.cols() <= y.rows.cols();
  const ComparableRows& small = x_is_smaller ? x : y;
  const ComparableRows& large = x_is_smaller ? y : x;
  builder_.cross_gram(centred(small), centred(large), cross_);
  const double squared_cross_norm = linalg::squared_norm(cross_);
  RowSimilarity result;
  result.cka = squared_cross_norm / (x.gram_norm * y.gram_norm);
  if (x.debiased_self > 0.0 && y.debiased_self > 0.0) {
    result.cka_debiased =
        debiased_hsic(squared_cross_norm, x, y) / std::sqrt(x.debiased_self * y.debiased_self);
  }
  if (!with_procrustes) return result;
  builder_.outer_gram(cross_, gram_);
  double nuclear_norm = 0.0;
  for (const double value : solver_.compute(gram_)) nuclear_norm += std::sqrt(std::max(value, 0.0));
  const double alignment = nuclear_norm / std::sqrt(x.squared_norm * y.squared_norm);
  result.procrustes = std::max(0.0, 2.0 - 2.0 * alignment);
  return result;
}

}  // namespace lime
