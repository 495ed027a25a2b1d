// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/embedding_alignment.h"

#include <algorithm>
#include <cmath>

namespace lime {
namespace {

/// Returns the rotation or reflection Q that minimises the distance of `points` Q to `target`.
Eigen::Matrix2d nearest_turn(const MatrixD& points, const MatrixD& target) {
  const Eigen::Matrix2d m = points.transpose().lazyProduct(target);
  // The best rotation (a, b) -> a I + b J or the best reflection, by inner product.
  const double rotation_a = m(0, 0) + m(1, 1);
  const double rotation_b = m(0, 1) - m(1, 0);
  const double mirror_a = m(0, 0) - m(1, 1);
  const double mirror_b = m(0, 1) + m(1, 0);
  const double rotation = std::hypot(rotation_a, rotation_b);
  const double mirror = std::hypot(mirror_a, mirror_b);
  Eigen::Matrix2d turn = Eigen::Matrix2d::Identity();
  if (std::max(rotation, mirror) == 0.0) return turn;
  if (rotation >= mirror) {
    turn << rotation_a, rotation_b, -rotation_b, rotation_a;
    return turn / rotation;
  }
  turn << mirror_a, mirror_b, mirror_b, -mirror_a;
  return turn / mirror;
}

}  // namespace

MatrixD aligned_embedding(const ConstMatrixRefD& points, const ConstMatrixRefD& target) {
  const MatrixD centred = points.rowwise() - points.colwise().mean();
  const MatrixD goal = target.rowwise() - target.colwise().mean();
  return centred.lazyProduct(nearest_turn(centred, goal));
}

}  // namespace lime
