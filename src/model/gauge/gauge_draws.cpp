// SPDX-License-Identifier: Apache-2.0
#include "model/gauge/gauge_draws.h"

#include <ATen/Functions.h>

#include <Eigen/QR>
#include <cmath>
#include <numeric>
#include <span>

namespace lime {
namespace {

using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Square orthogonal(Eigen::Index size, double strength, Random& random) {
  Square start = Square::Identity(size, size);
  const double scale = strength / std::sqrt(static_cast<double>(size));
  for (Eigen::Index i = 0; i < start.size(); ++i) start.data()[i] += scale * random.normal();
  const Eigen::HouseholderQR<Square> decomposed(start);
  Square q = decomposed.householderQ();
  for (Eigen::Index i = 0; i < size; ++i) {
    if (decomposed.matrixQR()(i, i) < 0.0) q.col(i) *= -1.0;
  }
  return q;
}

/// Returns the reflection that exchanges the first axis and the direction of the vector of ones.
Square reflection_to_ones(Eigen::Index size) {
  Eigen::VectorXd normal =
      Eigen::VectorXd::Constant(size, -1.0 / std::sqrt(static_cast<double>(size)));
  normal(0) += 1.0;
  return Square::Identity(size, size) - 2.0 / normal.squaredNorm() * (normal * normal.transpose());
}

}  // namespace

at::Tensor GaugeDraws::factors(std::int64_t count) {
  at::Tensor drawn = at::empty({count}, at::TensorOptions(at::kDouble));
  double* const data = drawn.data_ptr<double>();
  for (std::int64_t i = 0; i < count; ++i) data[i] = std::exp(strength_ * random_.normal());
  return drawn;
}

at::Tensor GaugeDraws::permutation(std::int64_t count) {
  at::Tensor drawn = at::empty({count}, at::TensorOptions(at::kLong));
  const std::span<std::int64_t> order(drawn.data_ptr<std::int64_t>(),
                                      static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  random_.shuffle(order);
  return drawn;
}

at::Tensor GaugeDraws::rotation(std::int64_t size, bool keeps_mean) {
  at::Tensor drawn = at::empty({size, size}, at::TensorOptions(at::kDouble));
  Eigen::Map<Square> matrix(drawn.data_ptr<double>(), size, size);
  if (!keeps_mean) {
    matrix = orthogonal(size, strength_, random_);
    return drawn;
  }
  Square inner = Square::Identity(size, size);
  if (size > 1) {
    inner.bottomRightCorner(size - 1, size - 1) = orthogonal(size - 1, strength_, random_);
    const Square reflection = reflection_to_ones(size);
    inner = (reflection * inner * reflection).eval();
  }
  matrix = inner;
  return drawn;
}

}  // namespace lime
