// SPDX-License-Identifier: Apache-2.0
#include "viz/figure.h"

#include <cmath>

#include "core/program/terminal.h"
#include "viz/figure_extents.h"
#include "viz/figure_size.h"

namespace lime {
namespace {

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
    for (RangeMark& range : panel.ranges) (*this)(range.name);
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
    for (std::vector<TableCell>& row : panel.rows) {
      for (TableCell& cell : row) {
        if (auto* const text = std::get_if<std::string>(&cell)) (*this)(*text);
      }
    }
  }
  void operator()(FigurePanel& panel) const {
    (*this)(panel.title);
    (*this)(panel.x);
    (*this)(panel.y);
    std::visit(*this, panel.content);
  }
};

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
    if (is_class_colour(style.colour)) count = std::max(count, style.colour + 1);
  };
  for (const FigurePanel& panel : figure.panels) {
    if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
      for (const Curve& curve : curves->curves) see(curve.style);
    } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
      for (const BarPanel::Series& series : bars->series) see(series.style);
    }
  }
  return count;
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
