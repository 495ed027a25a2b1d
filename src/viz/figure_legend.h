// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/figure.h"

namespace lime {

/// Legend entry: a label, in order of first appearance, with its style.
struct LegendEntry {
  std::string label;
  SeriesStyle style;
  bool is_line = false;   ///< a curve; else points or bars
  bool is_class = false;  ///< of points, with the marker of the class
};
std::vector<LegendEntry> legend_of(const Figure& figure);

}  // namespace lime
