// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/figure.h"

namespace lime {

/// One side of a heatmap: consecutive lines for layers, heads or the heads of layers.
struct MapSide {
  std::string label = {};
  std::vector<int> numbers = {};  ///< as shown, ascending
  bool is_downward = false;       ///< the first one is at the top
  int inner = 1;                  ///< lines of each number, with borders between numbers
};

/// Returns a heatmap with labelled sides.
/// @param values  [lines of y, lines of x], the first number first.
FigurePanel map_panel(const MatrixD& values, const MapSide& x, const MapSide& y);

}  // namespace lime
