// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/embedding_exploration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/tsne/embedding_alignment.h"
#include "metrics/tsne/embedding_checks.h"

namespace lime {
namespace {

constexpr std::int64_t kBlockRows = 4096;

/// Returns row `row` normalised to length 1, in double precision.
VectorD unit_row(const CaptureReader& capture, const std::string& site, int layer,
                 std::int64_t row) {
  VectorD values = capture.read_rows(site, layer, row, 1).row(0).cast<double>();
  const double norm = values.norm();
  return norm > 0.0 ? VectorD(values / norm) : values;
}

MatrixD centred(const MatrixD& points) { return points.rowwise() - points.colwise().mean(); }

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
