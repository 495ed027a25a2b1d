// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/matrix.h"

// What a figure shows, as plain data: no colours, sizes or fonts, which are matters of style
// (figure_style.h), and nothing of Qt. Recipes make it from results; the painter draws it; the CSV
// and pgfplots writers write it down.

namespace lime {

enum class LinePattern { kSolid, kDashed, kDotted, kDashDotted, kNone };
enum class MarkerShape { kNone, kDisc, kSquare, kTriangle, kDiamond };

/// The colour of what belongs to no class in particular: greyish.
inline constexpr std::size_t kMutedColour = std::numeric_limits<std::size_t>::max();

/// How a thing without an order looks: its number among the classes, and what tells it apart where
/// colour does not.
struct SeriesLook {
  std::size_t colour = 0;  ///< number of the class, or kMutedColour
  LinePattern pattern = LinePattern::kSolid;
  MarkerShape marker = MarkerShape::kDisc;
  bool is_faint = false;  ///< thin and pale: behind what matters more
  double width = 1.0;     ///< of the line, in parts of the usual one

  bool operator==(const SeriesLook&) const = default;
};

/// A place on an axis with its own label.
struct AxisTick {
  double at = 0.0;
  std::string label;
};

/// What an axis says where its texts have no room.
struct CrowdedAxis {
  std::string addition;         ///< to the label: ", position"
  std::vector<AxisTick> ticks;  ///< even; every n-th is drawn, so that they have room
};

struct FigureAxis {
  std::string label = {};          ///< with its unit: "entropy (nats)"
  std::optional<double> min = {};  ///< unset: what the data asks for
  std::optional<double> max = {};
  bool whole_numbers = false;        ///< ticks at whole numbers only
  bool logarithmic = false;          ///< values > 0
  std::vector<AxisTick> ticks = {};  ///< empty: chosen from the range
  bool hides_numbers = false;        ///< neither ticks nor labels: t-SNE has no units
  /// Of axes with a text at each tick: says instead of `ticks` what fits a small panel.
  std::optional<CrowdedAxis> if_crowded = {};
};

/// y over x, with a band or with error bars.
struct Curve {
  enum class Spread { kNone, kBand, kBars };

  std::string label;  ///< what it is; equal labels share one entry of the legend
  std::vector<double> x;
  std::vector<double> y;  ///< NaN breaks the line
  std::vector<double> low;
  std::vector<double> high;
  Spread spread = Spread::kNone;
  SeriesLook look;
  /// Marks above points, e.g. "**" where a corrected p-value is small; empty, or one per point.
  std::vector<std::string> stars = {};
  /// In the legend instead of `label`: curves of several colours may share an entry, which is grey.
  std::optional<std::string> legend = {};
};

/// A line across the panel that bounds or compares: a ceiling, chance level.
struct ReferenceLine {
  double y = 0.0;
  std::string label;
  bool is_zero = false;    ///< a thin solid line where nothing differs
  bool in_legend = false;  ///< says what it is there, where curves come near; else beside the line
};

struct CurvePanel {
  std::vector<Curve> curves;
  std::vector<ReferenceLine> references;
};

/// A matrix as coloured cells. Row 0 is drawn at the bottom.
struct MapPanel {
  /// A cell that somebody has changed: crossed out, or with a corner where only its value differs.
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

/// Points in the plane with a class each.
struct CloudPanel {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<int> classes;  ///< number into `class_names`
  std::vector<std::string> class_names;
};

/// Bars in groups, e.g. accuracy per phenomenon and model.
struct BarPanel {
  struct Series {
    std::string label;
    std::vector<double> values;  ///< one per group
    std::vector<double> low;
    std::vector<double> high;
    SeriesLook look;
    std::vector<std::string> stars = {};  ///< beside the bars; empty, or one per group
  };
  std::vector<std::string> groups;
  std::vector<Series> series;
  /// Height of a group in lines of text, so that each has its name; 0: the panel has the figure's
  /// aspect. Fewer lines where the sheet is not higher.
  double lines_per_group = 0.0;
  std::optional<ReferenceLine> reference = {};
};

/// Text in cells, booktabs style: rules above, below the head, and below.
struct TablePanel {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> rules = {};  ///< thin lines before these rows
};

struct FigurePanel {
  std::string title;
  FigureAxis x;
  FigureAxis y;
  std::variant<CurvePanel, MapPanel, CloudPanel, BarPanel, TablePanel> content;
};

/// Panels on a grid, row by row.
struct Figure {
  std::string name;        ///< what it is, a file name without its ending: "entropy"
  std::string title = {};  ///< above all panels; mostly empty, since papers have captions
  std::vector<FigurePanel> panels;
  std::string note = {};  ///< small, below all panels: what stars mean, what was left out
  bool is_wide = false;   ///< asks for the width of a page rather than of a column
  int columns = 1;
  bool keeps_columns = false;    ///< however narrow that makes the panels
  bool labels_at_edges = false;  ///< only the outer panels have labels of axes: thin_out_labels()
  double panel_aspect = 0.62;    ///< height of a panel by its width
  std::string colour_label;      ///< at the colour bar of maps
  /// Colour range of all maps; unset: of the values, symmetric around 0 where they are signed.
  std::optional<std::pair<double, double>> colour_range;
  bool shares_y = false;  ///< all panels have one y range, and only the first column its numbers
};

/// The smallest of 1, 2, 5, 10, 20, 50, ... that makes at most `most` steps in `count`; most >= 1.
int round_step(int count, int most);

/// BarPanel::lines_per_group of `groups` groups with `bars` bars each: room for a name, or for all
/// bars; less where many groups are to stand on one page.
double usual_lines_per_group(std::size_t groups, std::size_t bars);

/// Smallest and largest value of all maps of `figure`; symmetric around 0 if a map is signed.
/// (0, 1) where there is none.
std::pair<double, double> colour_range_of(const Figure& figure);

/// Number of colours that the series and classes of `figure` take, at least 1.
std::size_t num_colours_of(const Figure& figure);

/// The points of a curve with a band between two gaps (or ends): a band has no width there, so that
/// their spread is drawn as an error bar. Empty for other curves.
std::vector<std::size_t> lone_points(const Curve& curve);

/// Labels of the legend in the order of their first appearance, each with its look.
struct LegendEntry {
  std::string label;
  SeriesLook look;
  bool is_line = false;  ///< a curve; else points or bars
};
std::vector<LegendEntry> legend_of(const Figure& figure);

}  // namespace lime
