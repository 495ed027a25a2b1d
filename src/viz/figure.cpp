// SPDX-License-Identifier: Apache-2.0
#include "viz/figure.h"

#include <algorithm>
#include <cmath>

namespace lime {
namespace {

/// Adds `entry` unless its label is empty or already present; if the colours then differ, the entry
/// becomes grey.
void add_entry(std::vector<LegendEntry>& entries, LegendEntry entry) {
  if (entry.label.empty()) return;
  const auto known = std::find_if(entries.begin(), entries.end(), [&](const LegendEntry& other) {
    return other.label == entry.label;
  });
  if (known == entries.end()) {
    entries.push_back(std::move(entry));
  } else if (known->style.colour != entry.style.colour) {
    known->style.colour = kMutedColour;
  }
}

constexpr SeriesStyle kReferenceStyle = {kMutedColour, LinePattern::kDashed, MarkerShape::kNone};

void add_reference(std::vector<LegendEntry>& entries, const ReferenceLine& line) {
  if (line.in_legend) add_entry(entries, {line.label, kReferenceStyle, true});
}

}  // namespace

int round_step(int count, int most) {
  int step = 1;
  // 1, 2, 5, 10, 20, 50, ...
  for (int i = 0; count > most * step; ++i) step = i % 3 == 1 ? step / 2 * 5 : 2 * step;
  return step;
}

double usual_lines_per_group(std::size_t groups, std::size_t bars) {
  constexpr std::size_t kMany = 30;
  const auto count = static_cast<double>(bars);
  return groups > kMany ? std::max(1.1, 0.6 * count) : std::max(1.5, 0.8 * count);
}

std::pair<double, double> colour_range_of(const Figure& figure) {
  if (figure.colour_range) return *figure.colour_range;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  bool is_signed = false;
  for (const FigurePanel& panel : figure.panels) {
    const auto* const map = std::get_if<HeatmapPanel>(&panel.content);
    if (map == nullptr) continue;
    is_signed = is_signed || map->is_signed;
    for (Eigen::Index i = 0; i < map->values.size(); ++i) {
      const double value = map->values.data()[i];
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (!(low <= high)) return {0.0, 1.0};
  if (is_signed) {
    const double size = std::max({std::abs(low), std::abs(high), 1e-12});
    return {-size, size};
  }
  if (low >= 0.0) low = 0.0;
  return low < high ? std::pair(low, high) : std::pair(low, low + 1.0);
}

std::size_t num_colours_of(const Figure& figure) {
  std::size_t count = 1;
  const auto see = [&](const SeriesStyle& style) {
    if (style.colour != kMutedColour) count = std::max(count, style.colour + 1);
  };
  for (const FigurePanel& panel : figure.panels) {
    if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
      for (const Curve& curve : curves->curves) see(curve.style);
    } else if (const auto* const points = std::get_if<ScatterPanel>(&panel.content)) {
      count = std::max(count, points->class_names.size());
    } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
      for (const BarPanel::Series& series : bars->series) see(series.style);
    }
  }
  return count;
}

std::vector<std::size_t> lone_points(const Curve& curve) {
  std::vector<std::size_t> lone;
  if (curve.spread != Curve::Spread::kBand) return lone;
  const auto is_gap = [&](std::size_t i) {
    return i >= curve.y.size() || !std::isfinite(curve.y[i]) || !std::isfinite(curve.low[i]);
  };
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (!is_gap(i) && (i == 0 || is_gap(i - 1)) && is_gap(i + 1)) lone.push_back(i);
  }
  return lone;
}

std::vector<LegendEntry> legend_of(const Figure& figure) {
  std::vector<LegendEntry> entries;
  for (const FigurePanel& panel : figure.panels) {
    if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
      for (const Curve& curve : curves->curves) {
        add_entry(entries, {curve.legend.value_or(curve.label), curve.style, true});
      }
      for (const ReferenceLine& line : curves->references) add_reference(entries, line);
    } else if (const auto* const points = std::get_if<ScatterPanel>(&panel.content)) {
      for (std::size_t i = 0; i < points->class_names.size(); ++i) {
        add_entry(entries, {points->class_names[i], {.colour = i}, false});
      }
    } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
      for (const BarPanel::Series& series : bars->series) {
        add_entry(entries, {series.label, series.style, false});
      }
      if (bars->reference) add_reference(entries, *bars->reference);
    }
  }
  // Reference lines come last.
  std::stable_partition(entries.begin(), entries.end(),
                        [](const LegendEntry& entry) { return !(entry.style == kReferenceStyle); });
  return entries;
}

}  // namespace lime
