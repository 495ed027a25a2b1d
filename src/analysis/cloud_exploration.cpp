// SPDX-License-Identifier: Apache-2.0
#include "analysis/cloud_exploration.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/errors.h"
#include "store/hdf5_file.h"

namespace lime {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
constexpr std::int64_t kBlockRows = 4096;

int number_of_layer(const std::string& name, const std::filesystem::path& path) {
  int layer = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (result.ec != std::errc() || result.ptr != name.data() + name.size()) {
    throw FormatError("embeddings: '{}': '{}' must be a layer's number", path.string(), name);
  }
  return layer;
}

CaptureEmbeddings read_one(const Hdf5File& file, const std::string& group) {
  CaptureEmbeddings capture;
  capture.label = file.string_attribute("label", group);
  capture.rows.row = file.read<std::int64_t>(group + "/rows/row");
  capture.table.sequence = file.read<std::int32_t>(group + "/rows/sequence");
  capture.table.position = file.read<std::int32_t>(group + "/rows/position");
  capture.table.token = file.read<std::int32_t>(group + "/rows/token");
  capture.rows.class_id = file.read<std::int16_t>(group + "/rows/class");
  const std::string classes = group + "/rows/class";
  if (file.has_attribute("names", classes)) {
    capture.rows.class_names = file.strings_attribute("names", classes);
  }
  capture.rows.available = capture.rows.size();
  const auto count = static_cast<std::size_t>(capture.rows.size());
  const auto num_classes = static_cast<std::int16_t>(capture.rows.class_names.size());
  const bool is_whole =
      capture.table.sequence.size() == count && capture.table.position.size() == count &&
      capture.table.token.size() == count && capture.rows.class_id.size() == count &&
      std::all_of(capture.rows.class_id.begin(), capture.rows.class_id.end(),
                  [&](std::int16_t id) { return id < num_classes; });
  if (!is_whole) {
    throw FormatError(
        "embeddings: '{}': the columns of '{}/rows' must be of one length and name "
        "classes that there are",
        file.path().string(), group);
  }
  for (const std::string& site : file.groups(group)) {
    if (site == "rows") continue;
    for (const std::string& layer : file.datasets(group + "/" + site)) {
      const std::string name = group + "/" + site + "/" + layer;
      LayerEmbedding embedding{site, number_of_layer(layer, file.path()), file.read_matrix(name)};
      if (embedding.coordinates.cols() != 2 ||
          embedding.coordinates.rows() != static_cast<Eigen::Index>(count) ||
          !embedding.coordinates.allFinite()) {
        throw FormatError("embeddings: '{}': '{}' must be {} finite points in the plane",
                          file.path().string(), name, count);
      }
      if (file.has_attribute("kl_divergence", name)) {
        embedding.kl_divergence = file.double_attribute("kl_divergence", name);
      }
      capture.layers.push_back(std::move(embedding));
    }
  }
  capture.table.class_id = capture.rows.class_id;
  return capture;
}

double radius_of(const MatrixD& centred) {
  return std::sqrt(centred.rowwise().squaredNorm().mean());
}

MatrixD centred(const MatrixF& points) {
  const MatrixD values = points.cast<double>();
  return values.rowwise() - values.colwise().mean();
}

/// The rotation or reflection Q that makes `points` Q nearest to `target`, both centred:
/// of 2 x 2 matrices in closed form.
Eigen::Matrix2d nearest_turn(const MatrixD& points, const MatrixD& target) {
  const Eigen::Matrix2d m = points.transpose() * target;
  // Of all rotations (a, b) -> a I + b J that with the largest inner product, and likewise of all
  // reflections; then the better one.
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

/// Row `row` of length 1, in double.
VectorD unit_row(const CaptureReader& capture, const std::string& site, int layer,
                 std::int64_t row) {
  VectorD values = capture.read_rows(site, layer, row, 1).row(0).cast<double>();
  const double norm = values.norm();
  return norm > 0.0 ? VectorD(values / norm) : values;
}

}  // namespace

std::vector<CaptureEmbeddings> read_embeddings_hdf5(const std::filesystem::path& path) {
  const Hdf5File file(path);
  if (!file.has_attribute("format") || file.string_attribute("format") != "lime-embeddings") {
    throw FormatError("embeddings: '{}' must be of format lime-embeddings", path.string());
  }
  const std::int64_t version = file.int_attribute("schema_version");
  if (version != kSchemaVersion) {
    throw FormatError("embeddings: '{}' has schema version {}, this build reads {}; update",
                      path.string(), version, kSchemaVersion);
  }
  std::vector<std::string> groups = file.groups("captures");
  std::sort(groups.begin(), groups.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  std::vector<CaptureEmbeddings> captures;
  for (const std::string& group : groups) captures.push_back(read_one(file, "captures/" + group));
  return captures;
}

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

std::vector<NearRow> nearest_rows(const CaptureReader& capture, const std::string& site, int layer,
                                  std::int64_t row, std::span<const std::int64_t> candidates,
                                  std::size_t count, std::stop_token stop) {
  const std::int64_t num_rows = capture.num_rows();
  const bool is_inside =
      row >= 0 && row < num_rows &&
      (candidates.empty() || (candidates.front() >= 0 && candidates.back() < num_rows));
  if (!is_inside) {
    throw InvalidArgument("nearest_rows: rows must be in [0, {}), got {}", num_rows, row);
  }
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
