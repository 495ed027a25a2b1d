// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/embedding_alignment.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "metrics/tsne/embedding_checks.h"

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

MatrixD centred(const ConstMatrixRefD& points) {
  return points.rowwise() - points.colwise().mean();
}

/// The last layer of a site that did not diverge.
struct Previous {
  MatrixD stored;
  MatrixD aligned;
};

std::string fault_of(const MatrixD& points, const Previous* previous) {
  std::string fault = extent_fault(points);
  if (fault.empty() && previous != nullptr) fault = radius_fault(previous->stored, points);
  return fault;
}

}  // namespace

MatrixD aligned_embedding(const ConstMatrixRefD& points, const ConstMatrixRefD& target) {
  const MatrixD from = centred(points);
  return from.lazyProduct(nearest_turn(from, centred(target)));
}

std::vector<LayerFault> align_layers(CaptureEmbeddings& capture) {
  std::vector<LayerFault> faults;
  std::vector<LayerEmbedding*> faulty;
  std::map<std::string, Previous> of_site;
  for (LayerEmbedding& layer : capture.layers) {
    MatrixD points = layer.coordinates.cast<double>();
    const auto found = of_site.find(layer.site);
    const Previous* const previous = found == of_site.end() ? nullptr : &found->second;
    if (std::string fault = fault_of(points, previous); !fault.empty()) {
      faults.push_back({layer.site, layer.layer, std::move(fault)});
      faulty.push_back(&layer);
      continue;
    }
    MatrixD aligned =
        previous == nullptr ? centred(points) : aligned_embedding(points, previous->aligned);
    if (previous != nullptr) aligned *= previous->aligned.norm() / aligned.norm();
    layer.coordinates = aligned.cast<float>();
    of_site[layer.site] = {std::move(points), std::move(aligned)};
  }
  for (LayerEmbedding* const layer : faulty) {
    const auto sound = of_site.find(layer->site);
    if (sound == of_site.end()) continue;
    MatrixD points = centred(layer->coordinates.cast<double>());
    points *= std::min(1.0, sound->second.aligned.norm() / points.norm());
    layer->coordinates = points.cast<float>();
  }
  return faults;
}

}  // namespace lime
