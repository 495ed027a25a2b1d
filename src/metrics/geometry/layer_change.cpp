// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/layer_change.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/errors.h"
#include "core/matrix.h"

namespace lime {
namespace {

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

}  // namespace

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

}  // namespace lime
