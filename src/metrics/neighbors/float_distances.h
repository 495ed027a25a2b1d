// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/matrix.h"

namespace lime::neighbors {

/// Squared distances in float32, with a bound of their rounding: what they cannot order is compared
/// in double. The difference of nearly equal points is lost in the rounding of their norms.
class FloatDistances {
 public:
  /// @param points  [num_points, dim]; copied about their mean.
  explicit FloatDistances(const ConstMatrixRef& points);

  /// Returns the squared distances of `rows` to all points, [rows.size(), num_points]. A point is
  /// at an infinite distance from itself.
  MatrixF to_all(std::span<const Eigen::Index> rows) const;

  /// Returns the largest error of the distances of `row` to all points, [num_points]: four standard
  /// deviations of a sum of `dim` rounded products.
  Eigen::RowVectorXf rounding_of(Eigen::Index row) const;

 private:
  MatrixF centred_;
  Eigen::RowVectorXf squares_;
};

/// Returns the squared distance of two points in double.
double squared_distance(const ConstMatrixRef& points, Eigen::Index a, Eigen::Index b);

}  // namespace lime::neighbors
