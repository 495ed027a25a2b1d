// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "viz/figure.h"

namespace lime {

/// Range that grows as finite values are added.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool only_above_zero = false;  ///< for logarithmic axes

  void add(double value) {
    if (!std::isfinite(value) || (only_above_zero && value <= 0.0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void add(const std::vector<double>& values) {
    for (const double value : values) add(value);
  }
  bool empty() const { return !(low <= high); }
};

struct PanelExtents {
  Extent x;
  Extent y;
};

/// Returns the extents of what curves, points and bars show, with room for stars.
PanelExtents extents_of(const FigurePanel& panel);

}  // namespace lime
