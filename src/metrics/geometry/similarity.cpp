// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/similarity.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "core/errors.h"
#include "metrics/rows.h"

namespace lime {
namespace {

constexpr Eigen::Index kFewestRows = 4;
/// With fewer sequences a standard error over them is unreliable.
constexpr std::int64_t kFewestSequences = 5;

linalg::AffineRows<float> centred(const ComparableRows& x) {
  linalg::AffineRows<float> rows = linalg::affine_rows(x.rows);
  rows.shift = x.mean.data();
  return rows;
}

/// Returns the inner product of two rows, summed in lanes: the compiler may not reorder additions.
double dot_product(const float* a, const float* b, Eigen::Index size) {
  using Lanes = Eigen::Array<double, 16, 1>;
  using Values = Eigen::Map<const Eigen::Array<float, 16, 1>>;
  Lanes sums = Lanes::Zero();
  Eigen::Index i = 0;
  for (; i + sums.size() <= size; i += sums.size()) {
    sums += Values(a + i).cast<double>() * Values(b + i).cast<double>();
  }
  double sum = sums.sum();
  for (; i < size; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
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

ClusteredMean clustered_mean(const VectorD& values, std::span<const std::int32_t> sequence) {
  ClusteredMean result;
  result.mean = values.mean();
  result.standard_error = std::numeric_limits<double>::quiet_NaN();
  double squares = 0.0;
  for (std::size_t i = 0; i < sequence.size(); ++result.sequences) {
    double sum = 0.0;
    const std::int32_t current = sequence[i];
    for (; i < sequence.size() && sequence[i] == current; ++i) {
      sum += values[static_cast<Eigen::Index>(i)] - result.mean;
    }
    squares += sum * sum;
  }
  if (result.sequences >= kFewestSequences) {
    const auto count = static_cast<double>(result.sequences);
    result.standard_error =
        std::sqrt(count / (count - 1.0) * squares) / static_cast<double>(values.size());
  }
  return result;
}

LayerChange layer_change(const ComparableRows& x, const ComparableRows& y) {
  throw_if(x.rows.rows() != y.rows.rows() || x.rows.cols() != y.rows.cols(),
           "similarity: both inputs must have the same shape");
  VectorD influence(x.rows.rows());
  VectorD angle(x.rows.rows());
  for (Eigen::Index r = 0; r < x.rows.rows(); ++r) {
    const double dot = dot_product(x.rows.data() + r * x.rows.cols(),
                                   y.rows.data() + r * x.rows.cols(), x.rows.cols());
    const double lengths = x.lengths[r] * y.lengths[r];
    const double cosine = lengths > 0.0 ? std::clamp(dot / lengths, -1.0, 1.0) : 0.0;
    influence[r] = 1.0 - cosine;
    angle[r] = std::acos(cosine) / std::numbers::pi;
  }
  return {clustered_mean(influence, x.sequence), clustered_mean(angle, x.sequence)};
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
