// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/float_distances.h"

#include <cmath>
#include <limits>

namespace lime::neighbors {

FloatDistances::FloatDistances(const ConstMatrixRef& points) {
  const Eigen::RowVectorXf mean = points.cast<double>().colwise().mean().cast<float>();
  centred_ = points.rowwise() - mean;
  squares_ = centred_.rowwise().squaredNorm().transpose();
}

MatrixF FloatDistances::to_all(std::span<const Eigen::Index> rows) const {
  const auto count = std::ssize(rows);
  MatrixF own(count, centred_.cols());
  for (Eigen::Index i = 0; i < count; ++i) {
    own.row(i) = centred_.row(rows[static_cast<std::size_t>(i)]);
  }
  MatrixF distances = -2.0F * own * centred_.transpose();
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::Index row = rows[static_cast<std::size_t>(i)];
    distances.row(i).array() += squares_.array() + squares_[row];
    distances(i, row) = std::numeric_limits<float>::infinity();
  }
  return distances;
}

Eigen::RowVectorXf FloatDistances::rounding_of(Eigen::Index row) const {
  const float relative =
      2.0F * std::numeric_limits<float>::epsilon() * std::sqrt(static_cast<float>(centred_.cols()));
  return relative * (squares_.array() + squares_[row]);
}

double squared_distance(const ConstMatrixRef& points, Eigen::Index a, Eigen::Index b) {
  return (points.row(a).cast<double>() - points.row(b).cast<double>()).squaredNorm();
}

}  // namespace lime::neighbors
