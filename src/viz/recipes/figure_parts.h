// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "viz/map_panel.h"
#include "viz/recipes/figure_row.h"
#include "viz/recipes/recipe.h"

// Parts of figures that recipes share: curves over layers, heatmaps, bars, notes, names of
// measures.

namespace lime {

/// A side of a heatmap, and the columns with the place of a row on it.
struct RowsSide {
  MapSide side;
  Column column;
  int base = 0;       ///< shown number of index 0
  Column inner = {};  ///< place within a number, if it has several lines
};

/// Returns the side of the indices in `column`, from 0 to the largest. @throws FormatError
RowsSide rows_side(const std::string& label, const FigureRows& rows, const Column& column, int base,
                   int limit = kMaxLayers);

/// Returns a heatmap of `value`; rows whose numbers the sides do not have are omitted.
/// @param is_crossed  cells to cross out.
FigurePanel map_of_rows(const FigureRows& rows, const RowsSide& x, const RowsSide& y,
                        const Column& value,
                        const std::function<bool(const FigureRow&)>& is_crossed = {});

/// Returns an axis with a tick at each token: its text, or where the texts do not fit its position.
/// @param positions  default: from 0
FigureAxis token_axis(const std::string& label, const std::vector<std::string>& texts,
                      std::vector<int> positions = {}, bool is_downward = false);

/// Returns bars with intervals: a group per text of `group`, a series per text of `series_of`, with
/// stars for small p-values.
BarPanel bars_of(const FigureRows& rows, const Column& group, const Column& value,
                 const std::function<std::string(const FigureRow&)>& series_of);

/// Columns of the rows that form a curve, by default over layers.
struct LayerCurves {
  Column value = col::kMean;
  Column low = col::kCiLow;  ///< and high: of the band or error bars; may be none
  Column high = col::kCiHigh;
  Column deviation = {};  ///< instead of low and high: value -+ this column
  /// Range of the value, which the ends of a deviation do not leave.
  std::pair<double, double> bounds = {-std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::infinity()};
  Curve::Spread spread = Curve::Spread::kBand;
  Column ceiling = {};  ///< column of a bound to draw, if all rows of a panel agree
  std::string ceiling_label = {};
  bool ceiling_in_legend = false;
  std::string y_label = {};
  Column over = col::kLayer;
};

/// Returns a panel with a curve for each of `labels` that has rows, and the ceilings of `columns`.
FigurePanel layer_panel(const FigureRows& rows, const LayerCurves& columns,
                        const std::vector<std::string>& labels, const FigureOptions& options);

/// Returns one curve over the layers of `rows`, without markers if there are many.
/// @throws InvalidArgument  if a layer occurs twice.
Curve layer_curve(const FigureRows& rows, const LayerCurves& columns, int layer_base,
                  const std::string& label = "", const SeriesStyle& style = {});

/// Returns a note on the bands and error bars of `figure`, "bands: 95% intervals"; empty if it has
/// none. The confidence is from the options of the first results. @param kind  "paired " or empty.
/// @param intervals  name of the intervals.
std::string intervals_note(const Figure& figure, FigureSources sources,
                           const std::string& kind = "",
                           const std::string& intervals = "intervals");

/// Sets the columns of `options`, else `usual`, else columns_for(); page width from `wide_from` on.
void lay_out(Figure& figure, const FigureOptions& options, int usual, int wide_from);

/// Adds `more` to the note of `figure`, after a semicolon.
void add_note(Figure& figure, const std::string& more);

/// Returns the style of the `index`-th model: colour and marker, and dashes beyond the palette.
SeriesStyle model_style(std::size_t index);

/// Returns the style of the `index`-th group that is no model: a part, a cause.
SeriesStyle group_style(std::size_t index);

/// Returns the style of the `index`-th of `count` layers, in their order; of the whole model after
/// the last one.
SeriesStyle layer_style(std::size_t index, std::size_t count);

/// Returns the sites of `rows`, or one empty name if there are none.
std::vector<std::string> sites_of(const FigureRows& rows);

/// Returns "site: hidden" if the figure shows only that site, which panels then omit; else empty.
std::string site_note(const std::vector<std::string>& sites);

/// Joins the non-empty `parts` with commas: "values, raw".
std::string joined_parts(std::vector<std::string> parts);

/// Returns true if a panel has a curve with a band or error bars.
bool has_spread(const FigurePanel& panel);

/// Returns the axis label of a measure or quantity, with its unit: "curvature (degrees)" for
/// "curvature". Unknown names are unchanged, with spaces for underscores.
std::string measure_name(const std::string& measure);

/// Selects the measures to draw from those in `available`: the `requested` ones, else a default
/// subset if there are many. @throws InvalidArgument  if a requested one does not exist.
std::vector<std::string> selected_measures(const std::vector<std::string>& available,
                                           const std::vector<std::string>& requested);

/// Returns "***" below 0.001, "**" below 0.01, "*" below 0.05, else "".
std::string stars_of_p(double p);

inline constexpr const char* kStarsNote = "* p < 0.05, ** p < 0.01, *** p < 0.001, Holm-corrected";

/// Definition of the entropy in a row. Only rows with the same one share a panel.
struct EntropyKind {
  /// "lime-code", with changed options of the run: "layer-by-layer logN"; empty if unknown.
  std::string preset;
  std::string unit;   ///< "nats", "ratio" or "rank"; empty if the row has none
  std::string order;  ///< "alpha = 0.5", with the Greek letter; empty if the row has none

  bool operator==(const EntropyKind&) const = default;
};

/// Returns the definition of one row's entropy from the row and its source in `sources`.
EntropyKind entropy_kind_of(const FigureRow& row, FigureSources sources);

std::vector<EntropyKind> entropy_kinds(const FigureRows& rows, FigureSources sources);

/// Returns what distinguishes `kind` in `all`, for a title: "raw, alpha = 2"; may be empty.
std::string distinction_of(const EntropyKind& kind, const std::vector<EntropyKind>& all);

/// Returns what all kinds share, for a note: "preset lime-code, alpha = 0.5"; may be empty.
std::string common_of(const std::vector<EntropyKind>& all);

}  // namespace lime
