// SPDX-License-Identifier: Apache-2.0
#include "viz/figure.h"

#include <numeric>

#include "core/program/terminal.h"

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

/// Replaces texts by what escaped_lines() returns.
struct Escape {
  void operator()(std::string& text) const { text = escaped_lines(text); }
  void operator()(std::vector<std::string>& texts) const {
    for (std::string& text : texts) (*this)(text);
  }
  void operator()(std::vector<AxisTick>& ticks) const {
    for (AxisTick& tick : ticks) (*this)(tick.label);
  }
  void operator()(FigureAxis& axis) const {
    (*this)(axis.label);
    (*this)(axis.ticks);
    if (!axis.if_crowded) return;
    (*this)(axis.if_crowded->addition);
    (*this)(axis.if_crowded->ticks);
  }
  void operator()(CurvePanel& panel) const {
    for (Curve& curve : panel.curves) {
      (*this)(curve.label);
      (*this)(curve.stars);
      if (curve.legend) (*this)(*curve.legend);
    }
    for (ReferenceLine& line : panel.references) (*this)(line.label);
    for (RangeMark& range : panel.ranges) (*this)(range.label);
  }
  void operator()(HeatmapPanel& /*panel*/) const {}
  void operator()(ScatterPanel& panel) const { (*this)(panel.class_names); }
  void operator()(BarPanel& panel) const {
    (*this)(panel.groups);
    for (BarPanel::Series& series : panel.series) {
      (*this)(series.label);
      (*this)(series.stars);
    }
    if (panel.reference) (*this)(panel.reference->label);
  }
  void operator()(TablePanel& panel) const {
    (*this)(panel.head);
    for (std::vector<std::string>& row : panel.rows) (*this)(row);
  }
  void operator()(FigurePanel& panel) const {
    (*this)(panel.title);
    (*this)(panel.x);
    (*this)(panel.y);
    std::visit(*this, panel.content);
  }
};

constexpr SeriesStyle kReferenceStyle = {kMutedColour, LinePattern::kDashed, MarkerShape::kNone};

void add_reference(std::vector<LegendEntry>& entries, const ReferenceLine& line) {
  if (line.in_legend) add_entry(entries, {line.label, kReferenceStyle, true, false});
}

constexpr std::size_t kFew = 9;             // up to here all panels keep their labels
constexpr std::size_t kColumnOfCurves = 3;  // panels stacked vertically on a page
/// Minimum widths in mm at a font size of 8 pt: of a few panels of curves with their own numbers,
/// of other panels with labels, of those without, and of the colour bar.
constexpr double kSmallestCurves = 40.0;
constexpr double kSmallestPanel = 30.0;
constexpr double kSmallestBarePanel = 18.0;
constexpr double kColourBar = 15.0;
constexpr double kUsualFont = 8.0;
/// Also in mm: width of the labels next to a panel of curves, and of a letter.
constexpr double kLabelsBeside = 18.0;
constexpr double kLetter = 1.25;
constexpr double kStars = 3.4;  // width of "***"

std::size_t num_letters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// Returns the width of the stars above the points of a panel, side by side.
double stars_width(const FigurePanel& panel) {
  std::size_t most = 0;
  if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
    for (const Curve& curve : curves->curves) most = std::max(most, curve.stars.size());
  }
  return kStars * static_cast<double>(most);
}

/// Returns the letters of a panel's title and of the longest line name below it; 0 without a title.
std::size_t letters_above(const FigurePanel& panel) {
  const auto* const curves = std::get_if<CurvePanel>(&panel.content);
  if (curves == nullptr || panel.title.empty()) return 0;
  std::size_t name = 0;
  for (const ReferenceLine& reference : curves->references) {
    if (!reference.in_legend) name = std::max(name, num_letters(reference.label));
  }
  return num_letters(panel.title) + name;
}

double smallest_panel(const Figure& figure) {
  if (figure.labels_at_edges || has_any<ScatterPanel>(figure)) return kSmallestBarePanel;
  double width = 0.0;
  for (const FigurePanel& panel : figure.panels) {
    const auto* const bars = std::get_if<BarPanel>(&panel.content);
    if (bars == nullptr) continue;
    for (const std::string& name : bars->groups) {
      width = std::max(width, kLetter * static_cast<double>(num_letters(name)));
    }
  }
  if (width > 0.0) return std::max(kSmallestPanel, kSmallestBarePanel + width);
  if (figure.shares_y || !has_any<CurvePanel>(figure)) return kSmallestPanel;
  for (const FigurePanel& panel : figure.panels) {
    const double letters = kLetter * static_cast<double>(letters_above(panel));
    width = std::max({width, letters, stars_width(panel)});
  }
  return std::max(figure.panels.size() <= kColumnOfCurves ? kSmallestCurves : kSmallestPanel,
                  kLabelsBeside + width);
}

/// Returns at most `most`, a divisor of `columns` if possible, so that related rows stay together.
int fewer_columns(int columns, int most) {
  int part = most;
  while (columns % part != 0) --part;
  return 2 * part > most ? part : most;
}

}  // namespace

Figure printable_figure(Figure figure) {
  const Escape escape;
  escape(figure.name);
  escape(figure.title);
  escape(figure.note);
  escape(figure.colour_label);
  for (FigurePanel& panel : figure.panels) escape(panel);
  return figure;
}

int round_step(int count, int most) {
  int step = 1;
  // 1, 2, 5, 10, 20, 50, ...
  for (int i = 0; count > most * step; ++i) step = i % 3 == 1 ? step / 2 * 5 : 2 * step;
  return step;
}

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

std::vector<int> numbers_from(int first, int count) {
  std::vector<int> numbers(static_cast<std::size_t>(std::max(count, 0)));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::vector<AxisTick> number_ticks(const std::vector<int>& numbers) {
  constexpr int kMaxTicks = 10;
  const int step = round_step(static_cast<int>(numbers.size()), kMaxTicks);
  std::vector<AxisTick> ticks;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] % step != 0) continue;
    ticks.push_back({static_cast<double>(i), std::to_string(numbers[i])});
  }
  return ticks;
}

std::vector<AxisTick> layer_ticks(int count, int base) {
  return number_ticks(numbers_from(base, count));
}

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

double usual_lines_per_group(std::size_t groups, std::size_t bars) {
  constexpr std::size_t kMany = 30;
  const auto count = static_cast<double>(bars);
  return groups > kMany ? std::max(1.1, 0.6 * count) : std::max(1.5, 0.8 * count);
}

std::pair<double, double> colour_range_of(const Figure& figure) {
  if (figure.colour_range) return *figure.colour_range;
  Extent extent;
  bool is_signed = false;
  for (const FigurePanel& panel : figure.panels) {
    const auto* const map = std::get_if<HeatmapPanel>(&panel.content);
    if (map == nullptr) continue;
    is_signed = is_signed || map->is_signed;
    for (Eigen::Index i = 0; i < map->values.size(); ++i) extent.add(map->values.data()[i]);
  }
  if (extent.empty()) return {0.0, 1.0};
  auto [low, high] = std::pair(extent.low, extent.high);
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
        add_entry(entries, {curve.legend.value_or(curve.label), curve.style, true, false});
      }
      for (const ReferenceLine& line : curves->references) add_reference(entries, line);
    } else if (const auto* const points = std::get_if<ScatterPanel>(&panel.content)) {
      for (std::size_t i = 0; i < points->class_names.size(); ++i) {
        add_entry(entries, {points->class_names[i], {.colour = i}, false, true});
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

int columns_for(std::size_t panels, int requested) {
  if (requested > 0) return requested;
  if (panels <= 3) return static_cast<int>(panels);
  return panels == 4 ? 2 : static_cast<int>(std::ceil(std::sqrt(static_cast<double>(panels))));
}

void thin_out_labels(Figure& figure) {
  const std::size_t count = figure.panels.size();
  const auto columns = static_cast<std::size_t>(figure.columns);
  if (count <= kFew) return;
  figure.labels_at_edges = true;
  // These two are at the edges for any number of columns.
  const std::string x_label = figure.panels.back().x.label;
  const std::string y_label = figure.panels.front().y.label;
  for (std::size_t i = 0; i < count; ++i) {
    FigurePanel& panel = figure.panels[i];
    panel.y.label = i % columns == 0 ? y_label : "";
    panel.x.label = i + columns >= count ? x_label : "";
    for (FigureAxis* const axis : {&panel.x, &panel.y}) {
      if (axis->if_crowded) continue;  // the layout draws only those that fit
      if (axis->ticks.size() > 2) axis->ticks = {axis->ticks.front(), axis->ticks.back()};
    }
  }
}

Figure with_fitting_columns(const Figure& figure, const FigureStyle& style) {
  const FigureSize size = figure_size(style, figure.is_wide);
  if (figure.keeps_columns || size.height_mm || has_any<TablePanel>(figure)) return figure;
  const double smallest = smallest_panel(figure) * style.at_venue().font_size / kUsualFont;
  const double room = size.width_mm - (has_any<HeatmapPanel>(figure) ? kColourBar : 0.0);
  const int columns = std::clamp(figure.columns, 1, static_cast<int>(figure.panels.size()));
  const double most = std::max(1.0, std::floor(room / smallest));
  if (columns <= most) return figure;
  Figure fitting = figure;
  fitting.columns = fewer_columns(columns, static_cast<int>(most));
  if (fitting.labels_at_edges) thin_out_labels(fitting);
  return fitting;
}

}  // namespace lime
