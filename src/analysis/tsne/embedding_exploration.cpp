// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/embedding_exploration.h"

#include <algorithm>
#include <cmath>

namespace lime {
namespace {

double radius_of(const MatrixD& centred) {
  return std::sqrt(centred.rowwise().squaredNorm().mean());
}

MatrixD centred(const MatrixF& points) {
  const MatrixD values = points.cast<double>();
  return values.rowwise() - values.colwise().mean();
}

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

constexpr std::int64_t kBlockRows = 4096;

/// Returns row `row` normalised to length 1, in double precision.
VectorD unit_row(const CaptureReader& capture, const std::string& site, int layer,
                 std::int64_t row) {
  VectorD values = capture.read_rows(site, layer, row, 1).row(0).cast<double>();
  const double norm = values.norm();
  return norm > 0.0 ? VectorD(values / norm) : values;
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
      points = points.lazyProduct(nearest_turn(points, previous->second)).eval();
    }
    layer.coordinates = points.cast<float>();
    before[layer.site] = std::move(points);
  }
}

std::vector<NearRow> nearest_rows(const CaptureReader& capture, const std::string& site, int layer,
                                  std::int64_t row, std::span<const std::int64_t> candidates,
                                  std::size_t count, const std::stop_token& stop) {
  const std::int64_t num_rows = capture.num_rows();
  const bool is_inside =
      row >= 0 && row < num_rows &&
      (candidates.empty() || (candidates.front() >= 0 && candidates.back() < num_rows));
  throw_if(!is_inside, "nearest_rows: rows must be in [0, {}), got {}", num_rows, row);
  const VectorD wanted = unit_row(capture, site, layer, row);
  std::vector<NearRow> near;
  MatrixF block;
  for (std::size_t next = 0; next < candidates.size();) {
    if (stop.stop_requested()) throw Interrupted("nearest_rows: interrupted");
    const std::int64_t first = candidates[next];
    const std::int64_t size = std::min(kBlockRows, num_rows - first);
    block = capture.read_rows(site, layer, first, size);
    for (; next < candidates.size() && candidates[next] < first + size; ++next) {
      if (candidates[next] == row) continue;
      const VectorD values = block.row(candidates[next] - first).cast<double>();
      const double norm = values.norm();
      const VectorD unit = norm > 0.0 ? VectorD(values / norm) : values;
      near.push_back({candidates[next], (unit - wanted).norm()});
    }
  }
  const auto by_distance = [](const NearRow& a, const NearRow& b) {
    return std::pair(a.distance, a.row) < std::pair(b.distance, b.row);
  };
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(count, near.size()));
  std::partial_sort(near.begin(), end, near.end(), by_distance);
  near.erase(end, near.end());
  return near;
}

}  // namespace lime
