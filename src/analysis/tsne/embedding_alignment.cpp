// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/embedding_alignment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace lime {
namespace {

double radius_of(const MatrixD& centred) {
  return std::sqrt(centred.rowwise().squaredNorm().mean());
}

MatrixD centred(const MatrixF& points) {
  const MatrixD values = points.cast<double>();
  return values.rowwise() - values.colwise().mean();
}

/// Returns the rotation or reflection Q that minimises the distance of `points` Q to `target`, both
/// centred. 2 x 2 matrices have a closed form.
Eigen::Matrix2d nearest_turn(const MatrixD& points, const MatrixD& target) {
  const Eigen::Matrix2d m = points.transpose() * target;
  // The best rotation (a, b) -> a I + b J and the best reflection by inner product; then the better
  // of both.
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

void align_layers(CaptureEmbeddings& capture) {
  std::map<std::string, MatrixD> before;  // of each site
  for (LayerEmbedding& layer : capture.layers) {
    MatrixD points = centred(layer.coordinates);
    const auto previous = before.find(layer.site);
    if (previous != before.end()) {
      const double radius = radius_of(points);
      if (radius > 0.0) points *= radius_of(previous->second) / radius;
      points = (points * nearest_turn(points, previous->second)).eval();
    }
    layer.coordinates = points.cast<float>();
    before[layer.site] = std::move(points);
  }
}

}  // namespace lime
