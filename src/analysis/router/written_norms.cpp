// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/written_norms.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "core/matrix.h"
#include "metrics/geometry/lower_median.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

double median_norm(const MatrixF& rows) {
  if (rows.rows() == 0) return kNotMeasured;
  return lower_median(rows.rowwise().norm().cast<double>());
}

/// Sets the value of a layer, and those before it that are missing to NaN.
void set_layer(std::vector<double>& values, int layer, double value) {
  values.resize(static_cast<std::size_t>(layer), kNotMeasured);
  values.push_back(value);
}

/// Returns the median norms of a site, [layers]; empty if the capture has no such site.
std::vector<double> norms_of_site(const CaptureReader& capture, const std::string& site,
                                  std::int64_t count, const std::stop_token& stop) {
  std::vector<double> norms;
  if (!capture.has(site)) return norms;
  for (const int layer : capture.layers(site)) {
    set_layer(norms, layer, median_norm(capture.read_rows(site, layer, 0, count, stop)));
  }
  return norms;
}

}  // namespace

WrittenNorms written_norms(const CaptureReader& capture, std::int64_t num_rows,
                           const std::stop_token& stop) {
  const std::int64_t count = std::min(num_rows, capture.num_rows());
  WrittenNorms norms;
  norms.attention = norms_of_site(capture, "hook_attn_out", count, stop);
  norms.mlp = norms_of_site(capture, "hook_mlp_out", count, stop);
  if (!capture.has("hidden")) return norms;
  MatrixF before;
  int before_layer = -1;
  for (const int layer : capture.layers("hidden")) {
    MatrixF rows = capture.read_rows("hidden", layer, 0, count, stop);
    const bool follows = layer > 0 && before_layer == layer - 1 && before.cols() == rows.cols();
    set_layer(norms.stream, layer, median_norm(rows));
    set_layer(norms.both, layer, follows ? median_norm(rows - before) : kNotMeasured);
    before = std::move(rows);
    before_layer = layer;
  }
  return norms;
}

}  // namespace lime
