// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/measures.h"
#include "viz/recipes/recipes.h"

namespace lime {
namespace {

constexpr Eigen::Index kMaxNumberedLayers = 6;

FigurePanel similarity_panel(const std::vector<FigureRow>& rows, const std::string& label,
                             const std::string& other, const Column& measure, int layer_base) {
  HeatmapPanel map;
  const int layers = count_of(rows, col::kLayer, kMostLayers);
  const int other_layers = count_of(rows, col::kOtherLayer, kMostLayers);
  map.values = empty_map(rows, layers, other_layers);
  for (const FigureRow& row : rows) {
    map.values(row.index(col::kLayer, layers), row.index(col::kOtherLayer, other_layers)) =
        row.number(measure);
  }
  map.shows_numbers = std::max(map.values.rows(), map.values.cols()) <= kMaxNumberedLayers;
  FigurePanel panel;
  panel.x = {.label = fmt::format("layer of {}", other),
             .ticks = layer_ticks(other_layers, layer_base)};
  panel.y = {.label = fmt::format("layer of {}", label), .ticks = layer_ticks(layers, layer_base)};
  panel.content = std::move(map);
  return panel;
}

}  // namespace

Figure similarity_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  const std::vector<FigureRow> rows = rows_of(sources, options);
  std::string measure = "cka_debiased";
  measure = one_measure(options, "similarity", measure);
  const auto has_measure = [&](const FigureRow& row) { return row.has({measure}); };
  if (std::none_of(rows.begin(), rows.end(), has_measure)) {
    throw InvalidArgument(
        "measure: the results contain no '{}'; expected cka, cka_debiased or procrustes", measure);
  }
  Figure figure;
  const std::vector<std::string> sites = sites_of(rows);
  for (const auto& [label, other, site] :
       distinct_texts(rows, col::kLabel, col::kOtherLabel, col::kSite)) {
    const std::vector<FigureRow> part =
        rows_with(rows, {{col::kLabel, label}, {col::kOtherLabel, other}, {col::kSite, site}});
    figure.panels.push_back(similarity_panel(part, label, other, {measure}, options.layer_base));
    figure.panels.back().title = sites.size() > 1 ? site : "";
  }
  figure.note = site_note(sites);
  figure.colour_label = measure_name(measure);
  // CKA has an absolute scale; debiased CKA may be slightly below 0.
  if (measure != "procrustes") figure.colour_range = {0.0, 1.0};
  figure.panel_aspect = 1.0;
  figure.columns = options.columns > 0 ? options.columns
                                       : std::min<int>(3, static_cast<int>(figure.panels.size()));
  figure.is_wide = figure.columns >= 3;
  return figure;
}

}  // namespace lime
