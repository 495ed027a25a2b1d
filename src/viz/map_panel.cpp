// SPDX-License-Identifier: Apache-2.0
#include "viz/map_panel.h"

#include <utility>

namespace lime {

FigurePanel map_panel(const MatrixD& values, const MapSide& x, const MapSide& y) {
  HeatmapPanel map{.values = y.is_downward ? MatrixD(values.colwise().reverse()) : values};
  const auto axis = [](const MapSide& side, std::vector<int>& borders) {
    FigureAxis result{.label = side.label, .ticks = number_ticks(side.numbers)};
    const auto count = static_cast<int>(side.numbers.size());
    for (AxisTick& tick : result.ticks) {
      if (side.is_downward) tick.at = count - 1 - tick.at;
      tick.at = (tick.at + 0.5) * side.inner - 0.5;
    }
    for (int i = 1; side.inner > 1 && i < count; ++i) borders.push_back(i * side.inner);
    return result;
  };
  FigurePanel panel{.x = axis(x, map.col_borders), .y = axis(y, map.row_borders)};
  panel.content = std::move(map);
  return panel;
}

}  // namespace lime
