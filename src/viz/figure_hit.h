// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace lime {

/// Result of a hit test on a drawn figure: FigureScene::hit().
struct FigureHit {
  /// A heatmap cell that contains a value.
  struct Cell {
    int row = 0;
    int col = 0;
    bool operator==(const Cell&) const = default;
  };
  /// A point of a curve, a bar, or (series 0) a point of a scatter plot.
  struct Point {
    std::size_t series = 0;
    std::size_t index = 0;
    bool operator==(const Point&) const = default;
  };
  std::size_t panel = 0;
  double x = 0.0;  ///< in axis coordinates; for bars the value
  double y = 0.0;
  std::optional<Cell> cell = {};
  std::optional<Point> point = {};  ///< the nearest one within reach
};

}  // namespace lime
