// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lime {

/// Value of a measurement at a step, with the ends of its interval; both the value without one.
struct SeriesPoint {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  double step = 0.0;
};

struct Turn {
  std::size_t at = 0;      ///< index of the point
  const char* kind = "";   ///< maximum, minimum or bend
  std::size_t before = 0;  ///< last point before it whose interval is apart from its interval
  std::size_t after = 0;   ///< first such point after it
};

/// Returns the steps at which a curve turns: its minimum and its maximum, each only if a point
/// before it and a point after it have intervals apart from its own, and the other step whose
/// change of slope (per step) is largest in units of its margin, if it exceeds it.
/// @param points  by step
std::vector<Turn> find_turns(std::span<const SeriesPoint> points);

}  // namespace lime
