// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/nearest_rows.h"

#include <algorithm>

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

}  // namespace

std::vector<NearRow> nearest_rows(const CaptureReader& capture, const std::string& site, int layer,
                                  std::int64_t row, std::span<const std::int64_t> candidates,
                                  std::size_t count, const std::stop_token& stop) {
  const std::int64_t num_rows = capture.num_rows();
  const bool is_inside =
      row >= 0 && row < num_rows &&
      (candidates.empty() || (candidates.front() >= 0 && candidates.back() < num_rows));
  throw_if(!is_inside, "nearest_rows: rows must be in [0, {}), got {}", num_rows, row);
  const VectorD requested = unit_row(capture, site, layer, row);
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
      near.push_back({candidates[next], (unit - requested).norm()});
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
