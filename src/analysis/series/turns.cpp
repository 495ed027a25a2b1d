// SPDX-License-Identifier: Apache-2.0
#include "analysis/series/turns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace lime {

std::vector<Turn> find_turns(std::span<const SeriesPoint> points) {
  std::vector<Turn> turns;
  const auto [least, most] = std::ranges::minmax_element(points, {}, &SeriesPoint::value);
  for (const auto extremum : {least, most}) {
    const bool is_maximum = extremum == most;
    const auto is_apart = [&](const SeriesPoint& point) {
      return is_maximum ? point.high < extremum->low : point.low > extremum->high;
    };
    const auto at = extremum - points.begin();
    const auto after = std::find_if(extremum, points.end(), is_apart);
    const auto before = std::find_if(points.rend() - at, points.rend(), is_apart);
    if (after == points.end() || before == points.rend()) continue;
    turns.push_back({static_cast<std::size_t>(at), is_maximum ? "maximum" : "minimum",
                     static_cast<std::size_t>(points.rend() - before) - 1,
                     static_cast<std::size_t>(after - points.begin())});
  }
  std::optional<Turn> bend;
  double clearest = 1.0;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double before = 1.0 / (points[i].step - points[i - 1].step);
    const double after = 1.0 / (points[i + 1].step - points[i].step);
    double change = 0.0;
    double margin = 0.0;  // of independent values
    for (const auto& [at, weight] :
         {std::pair(i - 1, before), std::pair(i, -before - after), std::pair(i + 1, after)}) {
      change += weight * points[at].value;
      margin = std::hypot(margin, weight * (points[at].high - points[at].low) / 2.0);
    }
    if (margin == 0.0 || std::abs(change) <= clearest * margin) continue;
    if (std::ranges::find(turns, i, &Turn::at) != turns.end()) continue;
    clearest = std::abs(change) / margin;
    bend = {i, "bend", i - 1, i + 1};
  }
  if (bend) turns.push_back(*bend);
  return turns;
}

}  // namespace lime
