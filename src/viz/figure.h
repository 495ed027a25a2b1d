// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/matrix.h"
#include "viz/figure_style.h"

// Content of a figure as plain data: no colours, sizes or fonts, which belong to the style
// (figure_style.h), and no Qt types.

namespace lime {

enum class LinePattern { kSolid, kDashed, kDotted, kDashDotted, kNone };
enum class MarkerShape { kNone, kDisc, kSquare, kTriangle, kDiamond };

/// Returns the marker of the `index`-th series: four shapes in turn.
constexpr MarkerShape marker_of(std::size_t index) {
  return static_cast<MarkerShape>(1 + index % 4);
}

/// Colour of items that belong to no class: greyish.
inline constexpr std::size_t kMutedColour = std::numeric_limits<std::size_t>::max();

/// Style of a series or class: its class number, and a pattern and marker that need no colour.
struct SeriesStyle {
  std::size_t colour = 0;  ///< class number, or kMutedColour
  LinePattern pattern = LinePattern::kSolid;
  MarkerShape marker = MarkerShape::kDisc;
  bool is_faint = false;  ///< thin and pale, drawn in the background
  double width = 1.0;     ///< line width relative to the default

  bool operator==(const SeriesStyle&) const = default;
};

/// A position on an axis with its own label.
struct AxisTick {
  double at = 0.0;
  std::string label;
};

/// Axis labels to use if its tick labels do not fit.
struct CrowdedAxis {
  std::string addition;         ///< appended to the label: ", position"
  std::vector<AxisTick> ticks;  ///< evenly spaced; every n-th is drawn so that labels fit
};

struct FigureAxis {
  std::string label = {};          ///< with its unit: "entropy (nats)"
  std::optional<double> min = {};  ///< unset: from the data
  std::optional<double> max = {};
  bool whole_numbers = false;        ///< ticks at whole numbers only
  bool logarithmic = false;          ///< values > 0
  std::vector<AxisTick> ticks = {};  ///< empty: computed from the range
  bool hides_numbers = false;        ///< neither ticks nor labels: t-SNE has no units
  /// Replaces `ticks` in small panels, for axes with a text at each tick.
  std::optional<CrowdedAxis> if_crowded = {};
};

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
  std::string label = {};

  bool is_line() const { return low == high; }
};

struct CurvePanel {
  std::vector<Curve> curves;
  std::vector<ReferenceLine> references;
  std::vector<RangeMark> ranges = {};
};

/// A heatmap: a matrix as coloured cells. Row 0 is at the bottom.
struct HeatmapPanel {
  /// An edited cell: crossed out, or marked at a corner if only its value differs. In maps of
  /// tokens, a value beyond the colour scale, marked at a corner.
  struct Mark {
    int row = 0;
    int col = 0;
    bool is_crossed = false;
  };

  MatrixD values;  ///< [rows, cols]; NaN: no cell
  bool is_signed = false;
  bool shows_numbers = false;  ///< writes each value into its cell
  int decimals = 2;            ///< of those numbers
  /// Heavier lines before these rows and columns, e.g. between layers.
  std::vector<int> row_borders = {};
  std::vector<int> col_borders = {};
  std::vector<Mark> marks = {};
};

/// A scatter plot of points with a class each.
struct ScatterPanel {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<int> classes;  ///< index into `class_names`
  std::vector<std::string> class_names;
};

/// Bars in groups, e.g. accuracy per phenomenon and model.
struct BarPanel {
  struct Series {
    std::string label;
    std::vector<double> values;  ///< one per group
    std::vector<double> low;
    std::vector<double> high;
    SeriesStyle style;
    std::vector<std::string> stars = {};  ///< next to the bars; empty, or one per group
  };
  std::vector<std::string> groups;
  std::vector<Series> series;
  /// Height of a group in lines of text, so that each name fits; 0: the figure's aspect.
  double lines_per_group = 0.0;
  std::optional<ReferenceLine> reference = {};
};

/// Text table in booktabs style: rules above, below the header, and below.
struct TablePanel {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> rules = {};  ///< thin lines before these rows
};

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

/// Result of a hit test on a drawn figure: FigureScene::hit().
struct FigureHit {
  /// A heatmap cell that contains a value.
  struct Cell {
    int row = 0;
    int col = 0;
    bool operator==(const Cell&) const = default;
  };
  /// A point of a curve, a bar, or (series 0) a point of a scatter plot.
  struct Point {
    std::size_t series = 0;
    std::size_t index = 0;
    bool operator==(const Point&) const = default;
  };
  std::size_t panel = 0;
  double x = 0.0;  ///< in axis coordinates; for bars the value
  double y = 0.0;
  std::optional<Cell> cell = {};
  std::optional<Point> point = {};  ///< the nearest one within reach
};

/// Range that grows as finite values are added.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool only_above_zero = false;  ///< for logarithmic axes

  void add(double value) {
    if (!std::isfinite(value) || (only_above_zero && value <= 0.0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void add(const std::vector<double>& values) {
    for (const double value : values) add(value);
  }
  bool empty() const { return !(low <= high); }
};

struct PanelExtents {
  Extent x;
  Extent y;
};

/// Returns `figure` without control characters in its texts, see escaped_lines(): files of XML and
/// LaTeX must not contain them.
Figure printable_figure(Figure figure);

/// Returns the extents of what curves, points and bars show, with room for stars.
PanelExtents extents_of(const FigurePanel& panel);

/// Returns true if a panel of `figure` has this content.
template <typename Content> bool has_any(const Figure& figure) {
  return std::ranges::any_of(figure.panels, [](const FigurePanel& panel) {
    return std::holds_alternative<Content>(panel.content);
  });
}

/// One side of a heatmap: consecutive lines for layers, heads or the heads of layers.
struct MapSide {
  std::string label = {};
  std::vector<int> numbers = {};  ///< as shown, ascending
  bool is_downward = false;       ///< the first one is at the top
  int inner = 1;                  ///< lines of each number, with borders between numbers
};

/// Returns `count` numbers from `first` on.
std::vector<int> numbers_from(int first, int count);

/// Returns about ten ticks for these numbers.
std::vector<AxisTick> number_ticks(const std::vector<int>& numbers);
/// Returns ticks of `count` layers or heads, the first labelled `base`.
std::vector<AxisTick> layer_ticks(int count, int base);

/// Returns a heatmap with labelled sides.
/// @param values  [lines of y, lines of x], the first number first.
FigurePanel map_panel(const MatrixD& values, const MapSide& x, const MapSide& y);

/// Returns the smallest of 1, 2, 5, 10, ... that divides `count` into at most `most` >= 1 steps.
int round_step(int count, int most);

/// Returns BarPanel::lines_per_group for `groups` groups of `bars` bars each: room for a name, or
/// for all bars; less if many groups share one page.
double usual_lines_per_group(std::size_t groups, std::size_t bars);

/// Returns the minimum and maximum of all heatmaps of `figure`; symmetric if one is signed.
std::pair<double, double> colour_range_of(const Figure& figure);

std::size_t num_colours_of(const Figure& figure);

/// Returns the isolated points (between two gaps or ends) of a curve with a band. The band has no
/// width there, so their spread is drawn as an error bar. Empty for other curves.
std::vector<std::size_t> lone_points(const Curve& curve);

/// Legend entry: a label, in order of first appearance, with its style.
struct LegendEntry {
  std::string label;
  SeriesStyle style;
  bool is_line = false;   ///< a curve; else points or bars
  bool is_class = false;  ///< of points, with the marker of the class
};
std::vector<LegendEntry> legend_of(const Figure& figure);

/// Returns the number of columns for `panels` panels: `wanted`, or enough for a grid about 3 wide.
int columns_for(std::size_t panels, int requested);

/// Keeps axis labels only at the panels on the outer edges if there are many panels, and of the
/// ticks only the outermost. May be called again after the number of columns changes.
void thin_out_labels(Figure& figure);

/// Returns `figure` with as many columns as fit the width of `style`, if it has more and neither
/// their number nor the height is fixed: the figure grows in height instead.
/// @throws InvalidArgument  if the size is unknown.
Figure with_fitting_columns(const Figure& figure, const FigureStyle& style);

}  // namespace lime
