// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "store/embeddings_file.h"
#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/measures.h"
#include "viz/recipes/recipe.h"

namespace lime {
namespace {

/// Returns effect and first-order estimate of whole layers or sublayers.
FigurePanel effect_curves(const FigureRows& rows, const FigureOptions& options) {
  FigurePanel panel{.x = {.label = "layer", .whole_numbers = true},
                    .y = {.label = "nats per token"}};
  CurvePanel curves;
  std::size_t model = 0;
  for (const std::string& part : distinct(rows, col::kPart)) {
    const FigureRows own = rows_with(rows, {{col::kPart, part}});
    curves.curves.push_back(layer_curve(
        own, {.value = col::kEffect, .low = col::kEffect.low, .high = col::kEffect.high},
        options.layer_base, part, model_style(model)));
    curves.curves.push_back(layer_curve(own, {.value = col::kAttribution, .low = {}},
                                        options.layer_base, part + ", first order",
                                        {model++, LinePattern::kDashed, MarkerShape::kNone, true}));
  }
  panel.content = std::move(curves);
  return panel;
}

/// Returns a row per layer (and head) and a column per head, source (and its head) or position;
/// crossed out where the interval of the effect contains 0.
FigurePanel effect_map(const FigureRows& rows, const Column& across, const Column& measure,
                       int layer_base) {
  const bool by_head = rows.front().has(col::kSourceHead);
  const int layers = count_of(rows, col::kLayer, kMostLayers);
  const int columns = count_of(rows, across, kMostTokens);
  const int heads = by_head ? count_of(rows, col::kHead, kMostHeads) : 1;
  HeatmapPanel map{.values = MatrixD::Constant(layers * heads, columns * heads, NAN),
                   .is_signed = true};
  for (const FigureRow& row : rows) {
    const int inner = by_head ? heads - 1 - row.index(col::kHead, heads) : 0;
    const int line = (layers - 1 - row.index(col::kLayer, layers)) * heads + inner;
    const int column =
        row.index(across, columns) * heads + (by_head ? row.index(col::kSourceHead, heads) : 0);
    map.values(line, column) = row.number(measure);
    if (row.number(col::kEffect.low) <= 0.0 && row.number(col::kEffect.high) >= 0.0) {
      map.marks.push_back({line, column, true});
    }
  }
  for (int i = 1; by_head && i < layers; ++i) map.row_borders.push_back(i * heads);
  for (int i = 1; by_head && i < columns; ++i) map.col_borders.push_back(i * heads);
  const bool is_layer = across == col::kSource;
  FigurePanel panel;
  panel.x = {.label = is_layer ? "source layer" : std::string(across.name),
             .ticks = layer_ticks(columns, is_layer ? layer_base : 0)};
  panel.y = {.label = "layer", .ticks = layer_ticks(layers, layer_base)};
  for (AxisTick& tick : panel.x.ticks) tick.at = (tick.at + 0.5) * heads - 0.5;
  for (AxisTick& tick : panel.y.ticks) tick.at = (layers - tick.at - 0.5) * heads - 0.5;
  panel.content = std::move(map);
  return panel;
}

}  // namespace

Figure sweep_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    return row.has(col::kEffect) && row.has(col::kLayer);
  });
  if (rows.empty()) {
    throw NothingToShow("figure: the results contain no component; run lime-capture sweep --over");
  }
  const std::string measure = one_measure(options, "sweep", "effect");
  Figure figure;
  for (const std::string& label : distinct(rows, col::kLabel)) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    Column across = {};
    for (const Column& column :
         std::initializer_list<Column>{col::kSource, col::kPosition, col::kHead}) {
      if (across.is_none() && own.front().has(column)) across = column;
    }
    figure.panels.push_back(across.is_none()
                                ? effect_curves(own, options)
                                : effect_map(own, across, {measure}, options.layer_base));
    figure.panels.back().title = label;
  }
  const bool has_maps = std::holds_alternative<HeatmapPanel>(figure.panels.front().content);
  if (has_maps) figure.colour_label = measure_name(measure) + " (nats per token)";
  figure.note = has_maps ? "crossed out: the interval of the effect contains 0"
                         : intervals_note(figure, sources);
  lay_out(figure, options, 0, 3);
  return figure;
}

}  // namespace lime
