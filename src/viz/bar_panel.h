// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "viz/curve_panel.h"

namespace lime {

/// Bars in groups, e.g. accuracy per phenomenon and model.
struct BarPanel {
  struct Series {
    std::string label;
    std::vector<double> values;  ///< one per group
    std::vector<double> low;
    std::vector<double> high;
    SeriesStyle style;
    std::vector<std::string> stars = {};  ///< next to the bars; empty, or one per group
  };
  std::vector<std::string> groups;
  std::vector<Series> series;
  /// Height of a group in lines of text, so that each name fits; 0: the figure's aspect.
  double lines_per_group = 0.0;
  std::optional<ReferenceLine> reference = {};
};

/// Returns BarPanel::lines_per_group for `groups` groups of `bars` bars each: room for a name, or
/// for all bars; less if many groups share one page.
double usual_lines_per_group(std::size_t groups, std::size_t bars);

}  // namespace lime
