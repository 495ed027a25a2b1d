// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_extents.h"

namespace lime {

PanelExtents extents_of(const FigurePanel& panel) {
  PanelExtents all;
  all.x.only_above_zero = panel.x.logarithmic;
  all.y.only_above_zero = panel.y.logarithmic;
  bool has_stars = false;
  if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
    for (const Curve& curve : curves->curves) {
      all.x.add(curve.x);
      all.y.add(curve.y);
      all.y.add(curve.low);
      all.y.add(curve.high);
      has_stars = has_stars || !curve.stars.empty();
    }
    for (const ReferenceLine& reference : curves->references) all.y.add(reference.y);
    // Stars are drawn above their points.
    if (has_stars && !all.y.empty()) all.y.add(all.y.high + 0.12 * (all.y.high - all.y.low));
  } else if (const auto* const points = std::get_if<ScatterPanel>(&panel.content)) {
    for (const float value : points->x) all.x.add(static_cast<double>(value));
    for (const float value : points->y) all.y.add(static_cast<double>(value));
  } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
    all.x.add(0.0);
    for (const BarPanel::Series& series : bars->series) {
      all.x.add(series.values);
      all.x.add(series.low);
      all.x.add(series.high);
    }
  }
  return all;
}

}  // namespace lime
