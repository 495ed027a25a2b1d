// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_legend.h"

#include <algorithm>

#include "viz/class_colours.h"

namespace lime {
namespace {

/// Adds `entry` unless its label is empty or known; if the colours then differ, it becomes grey.
void add_entry(std::vector<LegendEntry>& entries, LegendEntry entry) {
  if (entry.label.empty()) return;
  const auto known = std::ranges::find_if(
      entries, [&](const LegendEntry& other) { return other.label == entry.label; });
  if (known == entries.end()) {
    entries.push_back(std::move(entry));
  } else if (known->style.colour != entry.style.colour) {
    known->style.colour = kMutedColour;
  }
}

constexpr SeriesStyle kReferenceStyle = {kMutedColour, LinePattern::kDashed, MarkerShape::kNone};

void add_reference(std::vector<LegendEntry>& entries, const ReferenceLine& line) {
  if (line.in_legend) add_entry(entries, {line.label, kReferenceStyle, true, false});
}

}  // namespace

std::vector<LegendEntry> legend_of(const Figure& figure) {
  std::vector<LegendEntry> entries;
  for (const FigurePanel& panel : figure.panels) {
    if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
      for (const Curve& curve : curves->curves) {
        add_entry(entries, {curve.legend.value_or(curve.label), curve.style, true, false});
      }
      for (const ReferenceLine& line : curves->references) add_reference(entries, line);
    } else if (const auto* const points = std::get_if<ScatterPanel>(&panel.content)) {
      const std::vector<std::size_t> colours = class_colours(points->class_names);
      for (std::size_t i = 0; i < colours.size(); ++i) {
        const SeriesStyle style{.colour = colours[i], .marker = marker_of(i)};
        add_entry(entries, {points->class_names[i], style, false, true});
      }
    } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
      for (const BarPanel::Series& series : bars->series) {
        SeriesStyle style = series.style;
        style.marker = MarkerShape::kSquare;
        add_entry(entries, {series.label, style, false, false});
      }
      if (bars->reference) add_reference(entries, *bars->reference);
    }
  }
  // Reference lines come last. (Clang 14 does not compile the form of std::ranges.)
  std::stable_partition(entries.begin(), entries.end(),
                        [](const LegendEntry& entry) { return !(entry.style == kReferenceStyle); });
  return entries;
}

}  // namespace lime
