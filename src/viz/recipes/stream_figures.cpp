// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/stream_figures.h"

#include <set>

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// Most layers with panels of their own, unless they are requested.
constexpr std::size_t kMaxMixedLayers = 4;

}  // namespace

Figure streams_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, "stream"}});
  throw_if<NothingToShow>(rows.empty(),
                          "figure: the results contain no energies of streams; run lime-metrics "
                          "streams with a capture of hook_streams");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  for (const std::string& label : labels) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    RowsSide layers = rows_side("layer", own, col::kLayer, options.layer_base);
    layers.side.is_downward = true;
    figure.panels.push_back(
        map_of_rows(own, rows_side("stream", own, col::kStream, 0), layers, col::kMean));
    if (labels.size() > 1) figure.panels.back().title = label;
  }
  figure.colour_label = "fraction of the energy";
  lay_out(figure, options, 0, 3);
  return figure;
}

Figure streams_layers_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    return row.text(col::kKind).empty() && row.has(col::kMeasure);
  });
  throw_if<NothingToShow>(rows.empty(), "figure: no row contains a measure of streams");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  const std::vector<std::string> available = distinct(rows, col::kMeasure);
  for (const std::string& measure :
       options.measure.empty() ? available : selected_measures(available, options.measure)) {
    const FigureRows part = rows_with(rows, {{col::kMeasure, measure}});
    for (const auto& [read] : distinct_texts(part, col::kRead)) {
      const FigureRows own = rows_with(part, {{col::kRead, read}});
      figure.panels.push_back(
          layer_panel(own, {.y_label = measure_name(measure)}, labels, options));
      if (!read.empty()) figure.panels.back().title = "before " + read;
    }
  }
  lay_out(figure, options, std::min<int>(3, static_cast<int>(figure.panels.size())), 3);
  figure.note = intervals_note(figure, sources);
  figure.panel_aspect = 0.75;
  return figure;
}

Figure streams_mixing_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, "mixing"}});
  throw_if<NothingToShow>(rows.empty(),
                          "figure: the results contain no mixing matrices; run lime-metrics "
                          "streams with a capture of hook_stream_weights");
  std::set<int> available;
  for (const FigureRow& row : rows) available.insert(row.index(col::kLayer, kMaxLayers));
  const std::vector<int> layers = layers_to_draw(options, available, kMaxMixedLayers);
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  for (const FigureRow& row : rows) {
    const int layer = row.index(col::kLayer, kMaxLayers);
    if (!contains(layers, layer)) continue;
    const auto streams = static_cast<int>(
        std::min<std::int64_t>(row.array(col::kWeight, 2).shape.front(), kMaxHeads));
    FigurePanel panel = map_panel(map_of_array(row, col::kWeight, 2, streams, streams),
                                  {"stream read", numbers_from(0, streams)},
                                  {"new stream", numbers_from(0, streams), true});
    panel.title = joined_parts({labels.size() > 1 ? row.text(col::kLabel) : "",
                                fmt::format("layer {}", layer + options.layer_base),
                                "before " + row.text(col::kRead)});
    auto& map = std::get<HeatmapPanel>(panel.content);
    map.is_signed = (map.values.array() < 0.0).any();
    map.shows_numbers = streams <= 4;
    figure.panels.push_back(std::move(panel));
  }
  figure.colour_label = "mean weight";
  figure.panel_aspect = 1.0;
  lay_out(figure, options, 2, 3);
  return figure;
}

}  // namespace lime
