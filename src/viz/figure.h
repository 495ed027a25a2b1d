// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "viz/bar_panel.h"
#include "viz/curve_panel.h"
#include "viz/figure_axis.h"
#include "viz/figure_style.h"
#include "viz/heatmap_panel.h"
#include "viz/scatter_panel.h"
#include "viz/series_style.h"
#include "viz/table_panel.h"

// Content of a figure as plain data: no colours, sizes or fonts, which belong to the style
// (figure_style.h), and no Qt types.

namespace lime {

struct FigurePanel {
  std::string title = {};
  FigureAxis x = {};
  FigureAxis y = {};
  std::variant<CurvePanel, HeatmapPanel, ScatterPanel, BarPanel, TablePanel> content = {};
};

/// Panels on a grid, row by row.
struct Figure {
  std::string name;        ///< file name without extension: "entropy"
  std::string title = {};  ///< above all panels; usually empty, since papers have captions
  std::vector<FigurePanel> panels;
  std::string note = {};  ///< small, below all panels: meaning of stars, omissions
  bool is_wide = false;   ///< requests page width instead of column width
  int columns = 1;
  bool keeps_columns = false;    ///< even if panels get narrow
  bool labels_at_edges = false;  ///< only outer panels have axis labels: thin_out_labels()
  double panel_aspect = 0.62;    ///< panel height / width
  std::string colour_label;      ///< label of the heatmaps' colour bar
  /// Colour range of all heatmaps; unset: of the values, symmetric around 0 if they are signed.
  std::optional<std::pair<double, double>> colour_range;
  bool logarithmic_colours = false;  ///< of a colour_range above 0; smaller values are clipped
  bool shares_y = false;  ///< all panels share one y range, numbered in the first column only
};

/// Returns `figure` without control characters in its texts, see escaped_lines(): files of XML and
/// LaTeX must not contain them.
Figure printable_figure(Figure figure);

/// Returns true if a panel of `figure` has this content.
template <typename Content> bool has_any(const Figure& figure) {
  return std::ranges::any_of(figure.panels, [](const FigurePanel& panel) {
    return std::holds_alternative<Content>(panel.content);
  });
}

/// Returns the minimum and maximum of all heatmaps of `figure`; symmetric if one is signed.
std::pair<double, double> colour_range_of(const Figure& figure);

std::size_t num_colours_of(const Figure& figure);

/// Returns the number of columns for `panels` panels: `requested`, or enough for a grid about 3
/// wide.
int columns_for(std::size_t panels, int requested);

/// Keeps axis labels only at the panels on the outer edges if there are many panels, and of the
/// ticks only the outermost. May be called again after the number of columns changes.
void thin_out_labels(Figure& figure);

/// Returns `figure` with as many columns as fit the width of `style`, if it has more and neither
/// their number nor the height is fixed: the figure grows in height instead.
/// @throws InvalidArgument  if the size is unknown.
Figure with_fitting_columns(const Figure& figure, const FigureStyle& style);

}  // namespace lime
