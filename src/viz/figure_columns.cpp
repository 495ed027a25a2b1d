// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_columns.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <variant>

namespace lime {
namespace {

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

template <typename Content>
bool has_any(const Figure& figure) {
  return std::any_of(figure.panels.begin(), figure.panels.end(), [](const FigurePanel& panel) {
    return std::holds_alternative<Content>(panel.content);
  });
}

/// Counts the letters of a UTF-8 text.
std::size_t num_letters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// Returns the letters above a panel: its title and the longest line name, which is right-aligned
/// just below it; 0 without a title.
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
  if (figure.shares_y || !has_any<CurvePanel>(figure)) return kSmallestPanel;
  std::size_t letters = 0;
  for (const FigurePanel& panel : figure.panels) {
    letters = std::max(letters, letters_above(panel));
  }
  return std::max(figure.panels.size() <= kColumnOfCurves ? kSmallestCurves : kSmallestPanel,
                  kLabelsBeside + kLetter * static_cast<double>(letters));
}

/// Returns at most `most`, a divisor of `columns` if possible, so that related rows stay together.
int fewer_columns(int columns, int most) {
  int part = most;
  while (columns % part != 0) --part;
  return 2 * part > most ? part : most;
}

}  // namespace

int columns_for(std::size_t panels, int wanted) {
  if (wanted > 0) return wanted;
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
  const double smallest = smallest_panel(figure) * style.font_size / kUsualFont;
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
