// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_columns.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <variant>

namespace lime {
namespace {

constexpr std::size_t kFew = 9;             // panels that all keep their labels
constexpr std::size_t kColumnOfCurves = 3;  // panels that stand one below the other on a page
/// Widths in mm at a font of 8 pt: of few panels of curves with numbers of their own, of other
/// panels with labels, of those without, and of the colour bar.
constexpr double kSmallestCurves = 40.0;
constexpr double kSmallestPanel = 30.0;
constexpr double kSmallestBarePanel = 18.0;
constexpr double kColourBar = 15.0;
constexpr double kUsualFont = 8.0;

template <typename Content>
bool has_any(const Figure& figure) {
  return std::any_of(figure.panels.begin(), figure.panels.end(), [](const FigurePanel& panel) {
    return std::holds_alternative<Content>(panel.content);
  });
}

double smallest_panel(const Figure& figure) {
  if (figure.labels_at_edges || has_any<CloudPanel>(figure)) return kSmallestBarePanel;
  const bool has_few_curves =
      has_any<CurvePanel>(figure) && figure.panels.size() <= kColumnOfCurves;
  return has_few_curves && !figure.shares_y ? kSmallestCurves : kSmallestPanel;
}

/// At most `most`, and where it can be a part of `columns`, so that rows that belong together stay.
int fewer_columns(int columns, int most) {
  int part = most;
  while (columns % part != 0) --part;
  return 2 * part > most ? part : most;
}

}  // namespace

void thin_out_labels(Figure& figure) {
  const std::size_t count = figure.panels.size();
  const auto columns = static_cast<std::size_t>(figure.columns);
  if (count <= kFew) return;
  figure.labels_at_edges = true;
  // These two stand at the edges whatever the number of columns.
  const std::string x_label = figure.panels.back().x.label;
  const std::string y_label = figure.panels.front().y.label;
  for (std::size_t i = 0; i < count; ++i) {
    FigurePanel& panel = figure.panels[i];
    panel.y.label = i % columns == 0 ? y_label : "";
    panel.x.label = i + columns >= count ? x_label : "";
    for (FigureAxis* const axis : {&panel.x, &panel.y}) {
      if (axis->ticks.size() > 2) axis->ticks = {axis->ticks.front(), axis->ticks.back()};
    }
  }
}

Figure with_fitting_columns(const Figure& figure, const FigureStyle& style) {
  const FigureSize size = figure_size(style, figure.is_wide);
  if (figure.keeps_columns || size.height_mm || has_any<TablePanel>(figure)) return figure;
  const double smallest = smallest_panel(figure) * style.font_size / kUsualFont;
  const double room = size.width_mm - (has_any<MapPanel>(figure) ? kColourBar : 0.0);
  const int columns = std::clamp(figure.columns, 1, static_cast<int>(figure.panels.size()));
  const double most = std::max(1.0, std::floor(room / smallest));
  if (columns <= most) return figure;
  Figure fitting = figure;
  fitting.columns = fewer_columns(columns, static_cast<int>(most));
  if (fitting.labels_at_edges) thin_out_labels(fitting);
  return fitting;
}

}  // namespace lime
