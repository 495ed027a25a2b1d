// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_points.h"

#include <algorithm>
#include <utility>

namespace lime {

std::vector<CapturePoint> capture_points(const std::vector<CaptureSite>& sites,
                                         const std::vector<ActivationInfo>& activations,
                                         const ModelConfig& config, int last_layer) {
  std::vector<CapturePoint> points;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const ActivationInfo& info = activations[i];
    CapturePoint& point = points.emplace_back();
    point.point = {site_kind(info.site, sites), info.layer};
    point.site = info.site;
    point.activation = i;
    point.dim = info.dim;
    if (point.point.kind == HookKind::kPattern) {
      point.num_keys = info.dim / config.num_attention_heads;
    }
  }
  for (const auto& [kind, site] :
       {std::pair(HookKind::kK, kKeysSite), std::pair(HookKind::kV, kValuesSite)}) {
    for (int layer = 0; layer <= last_layer; ++layer) {
      const HookPoint wanted{kind, layer};
      const bool is_there =
          std::any_of(points.begin(), points.end(),
                      [&](const CapturePoint& point) { return point.point == wanted; });
      if (is_there) continue;
      points.push_back({.point = wanted, .site = site, .dim = site_dim(kind, config)});
    }
  }
  return points;
}

std::int64_t bytes_per_token(const std::vector<CapturePoint>& points) {
  std::int64_t bytes = 0;
  for (const CapturePoint& point : points) {
    bytes += point.dim * static_cast<std::int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace lime
