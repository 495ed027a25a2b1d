// SPDX-License-Identifier: Apache-2.0
#include "viz/curve_panel.h"

#include <cmath>

namespace lime {

std::vector<std::size_t> lone_points(const Curve& curve) {
  std::vector<std::size_t> lone;
  if (curve.spread != Curve::Spread::kBand) return lone;
  const auto is_gap = [&](std::size_t i) {
    return i >= curve.y.size() || !std::isfinite(curve.y[i]) || !std::isfinite(curve.low[i]);
  };
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (!is_gap(i) && (i == 0 || is_gap(i - 1)) && is_gap(i + 1)) lone.push_back(i);
  }
  return lone;
}

}  // namespace lime
