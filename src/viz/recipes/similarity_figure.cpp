// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/measures.h"
#include "viz/recipes/recipes.h"

namespace lime {
namespace {

constexpr Eigen::Index kMaxNumberedLayers = 6;

struct LayerPair {
  std::string label;
  std::string other;
  std::string site;
  bool operator==(const LayerPair&) const = default;
};

std::vector<LayerPair> pairs_of(const std::vector<FigureRow>& rows) {
  std::vector<LayerPair> pairs;
  for (const FigureRow& row : rows) {
    LayerPair pair{row.text("label"), row.text("other_label"), row.text("site")};
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
  return pairs;
}

FigurePanel similarity_panel(const std::vector<FigureRow>& rows, const LayerPair& pair,
                             const std::string& measure, int layer_base) {
  HeatmapPanel map;
  const int layers = count_of(rows, "layer", kMostLayers);
  const int other_layers = count_of(rows, "other_layer", kMostLayers);
  map.values = empty_map(rows, layers, other_layers);
  for (const FigureRow& row : rows) {
    map.values(row.index("layer", layers), row.index("other_layer", other_layers)) =
        row.number(measure);
  }
  map.shows_numbers = std::max(map.values.rows(), map.values.cols()) <= kMaxNumberedLayers;
  FigurePanel panel;
  panel.x = {.label = fmt::format("layer of {}", pair.other),
             .ticks = layer_ticks(other_layers, layer_base)};
  panel.y = {.label = fmt::format("layer of {}", pair.label),
             .ticks = layer_ticks(layers, layer_base)};
  panel.content = std::move(map);
  return panel;
}

}  // namespace

Figure similarity_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  const std::vector<FigureRow> rows = rows_of(sources, options);
  std::string measure = "cka_debiased";
  measure = one_measure(options, "similarity", measure);
  const auto has_measure = [&](const FigureRow& row) { return row.has(measure); };
  if (std::none_of(rows.begin(), rows.end(), has_measure)) {
    throw InvalidArgument(
        "measure: the results contain no '{}'; expected cka, cka_debiased or procrustes", measure);
  }
  Figure figure;
  const std::vector<std::string> sites = sites_of(rows);
  for (const LayerPair& pair : pairs_of(rows)) {
    const std::vector<FigureRow> part = rows_where(rows, [&](const FigureRow& row) {
      return LayerPair{row.text("label"), row.text("other_label"), row.text("site")} == pair;
    });
    figure.panels.push_back(similarity_panel(part, pair, measure, options.layer_base));
    figure.panels.back().title = sites.size() > 1 ? pair.site : "";
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
