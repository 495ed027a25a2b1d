// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "viz/series_style.h"

namespace lime {

/// A curve y(x), optionally with a band or error bars.
struct Curve {
  enum class Spread { kNone, kBand, kBars };

  std::string label;  ///< series name; equal labels share one legend entry
  std::vector<double> x;
  std::vector<double> y;  ///< NaN breaks the line
  std::vector<double> low;
  std::vector<double> high;
  Spread spread = Spread::kNone;
  SeriesStyle style;
  /// Marks above points, e.g. "**" where a corrected p-value is small; empty, or one per point.
  std::vector<std::string> stars = {};
  /// Legend text instead of `label`: curves of several colours may share an entry, drawn in grey.
  std::optional<std::string> legend = {};
};

/// Reference line across the panel: an upper bound, chance level.
struct ReferenceLine {
  double y = 0.0;
  std::string label = {};
  bool is_zero = false;    ///< a thin solid line at zero
  bool in_legend = false;  ///< labelled in the legend if curves come near, else at the line
};

/// A named range of x behind the curves; without width, a dashed line across the panel.
struct RangeMark {
  double low = 0.0;
  double high = 0.0;
  std::string label = {};  ///< short; drawn where no curve crosses it, else not at all
  std::string name = {};   ///< drawn after the label if there is room

  bool is_line() const { return low == high; }
  std::string whole_label() const { return name.empty() ? label : label + ": " + name; }
};

struct CurvePanel {
  std::vector<Curve> curves;
  std::vector<ReferenceLine> references;
  std::vector<RangeMark> ranges = {};
};

/// Returns the isolated points (between two gaps or ends) of a curve with a band. The band has no
/// width there, so their spread is drawn as an error bar. Empty for other curves.
std::vector<std::size_t> lone_points(const Curve& curve);

}  // namespace lime
