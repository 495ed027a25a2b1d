// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/errors.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/recipes.h"

namespace lime {

Figure entropy_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  std::vector<FigureRow> rows = rows_of(sources, options);
  // Of several orders the first; rows of differences and means over layers have no ceiling.
  std::erase_if(rows, [](const FigureRow& row) { return !row.has("ceiling"); });
  if (rows.empty()) throw NothingToShow("figure: no row holds the entropy of a layer");
  const double alpha = rows.front().number("alpha");
  std::erase_if(rows, [&](const FigureRow& row) { return row.number("alpha") != alpha; });
  const std::string unit = rows.front().text("unit");
  LayerCurves columns;
  columns.ceiling = "ceiling";
  columns.ceiling_label = "ceiling";
  columns.y_label = fmt::format("entropy ({})", unit.empty() ? "nats" : unit);
  Figure figure = layer_curves(rows, columns, options);
  figure.note = fmt::format("matrix-based entropy of order \xCE\xB1 = {}", alpha);
  add_note(figure, intervals_note(figure, sources));
  return figure;
}

}  // namespace lime
