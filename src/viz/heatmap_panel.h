// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/matrix.h"

namespace lime {

/// A heatmap: a matrix as coloured cells. Row 0 is at the bottom.
struct HeatmapPanel {
  /// An edited cell: crossed out, or marked at a corner if only its value differs. In maps of
  /// tokens, a value beyond the colour scale, marked at a corner.
  struct Mark {
    int row = 0;
    int col = 0;
    bool is_crossed = false;
  };

  MatrixD values;  ///< [rows, cols]; NaN: no cell
  bool is_signed = false;
  bool shows_numbers = false;  ///< writes each value into its cell
  int decimals = 2;            ///< of those numbers
  /// Heavier lines before these rows and columns, e.g. between layers.
  std::vector<int> row_borders = {};
  std::vector<int> col_borders = {};
  std::vector<Mark> marks = {};
};

}  // namespace lime
