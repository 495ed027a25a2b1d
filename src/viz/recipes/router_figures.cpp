// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/router_figures.h"

#include <set>

#include "store/results/difference_name.h"
#include "viz/recipes/figure_parts.h"
#include "viz/recipes/router_panels.h"

namespace lime {
namespace {

FigureRows rows_of_kind(FigureSources sources, const FigureOptions& options,
                        const std::string& kind) {
  const FigureRows all = rows_of(sources, options);
  FigureRows rows = rows_with(all, {{col::kKind, kind}});
  if (rows.empty()) {
    if (!rows_with(all, {{col::kKind, "read"}}).empty()) {
      throw NothingToShow(
          "figure: the results contain weights of single tokens, which have no rows of kind '{}'; "
          "use --kind router-sources",
          kind);
    }
    throw NothingToShow(
        "figure: the results contain no rows of kind '{}'; run lime-metrics router with --detail "
        "{}",
        kind, kind == "weight" ? "weights" : "heads");
  }
  return rows;
}

/// Returns the weightings to draw: the requested ones, else the existing ones of `usual`.
std::vector<std::string> weightings_of(const FigureRows& rows, const FigureOptions& options,
                                       const std::vector<std::string>& usual) {
  const std::vector<std::string> available = distinct(rows, col::kWeighting);
  for (const std::string& weighting : options.weighting) {
    throw_if(!contains(available, weighting), OptionName("weighting"),
             "the results contain no '{}' (their weightings: {}); keys and values need "
             "lime-metrics router CHECKPOINT CAPTURE",
             weighting, fmt::join(available, ", "));
    throw_if(is_difference_name(weighting) != is_difference_name(options.weighting.front()),
             OptionName("weighting"), "fractions and differences need separate figures, got {}",
             fmt::join(options.weighting, ","));
  }
  if (!options.weighting.empty()) return options.weighting;
  std::vector<std::string> selected;
  std::ranges::copy_if(usual, std::back_inserter(selected), [&](const std::string& weighting) {
    return contains(available, weighting);
  });
  return selected.empty() ? std::vector<std::string>{""} : selected;
}

/// Returns the plotted quantity: "|R| x rms of keys".
std::string weighting_name(const std::string& weighting) {
  return weighted_router_quantity("|R|", weighting);
}

int layer_of(const FigureRow& row) { return row.index(col::kLayer, kMaxLayers); }

std::vector<int> layers_of_panels(const FigureRows& rows, const FigureOptions& options) {
  std::set<int> available;
  for (const FigureRow& row : rows) available.insert(layer_of(row));
  if (options.layer.empty()) {
    // The first layer has no other source.
    if (available.size() > 1) available.erase(0);
    return {available.begin(), available.end()};
  }
  return selected_layers(options, available);
}

/// Returns the mean map of one model and weighting: layers from `first` on by sources.
FigurePanel mean_map_panel(const FigureRows& rows, int layers, int first, int base) {
  std::size_t num_values = 0;
  for (const FigureRow& row : rows) num_values += row.array(col::kWeight, 1).values.size();
  MatrixD values = empty_map(rows, layers - first, layers, num_values);
  for (const FigureRow& row : rows) {
    if (const int line = layer_of(row) - first; line >= 0) {
      values.row(line) = map_of_array(row, col::kWeight, 1, 1, layers);
    }
  }
  FigurePanel panel = router_layers_panel(values, first, base);
  auto& map = std::get<HeatmapPanel>(panel.content);
  map.shows_numbers = layers <= 6;
  map.is_signed = is_difference_name(rows.front().text(col::kWeighting));
  return panel;
}

}  // namespace

Figure router_mean_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_of_kind(sources, options, "mean_map");
  const int layers = count_of(rows, col::kLayer, kMaxLayers);
  // The first layer has no other source.
  const int first = layers > 1 ? 1 : 0;
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> weightings =
      weightings_of(rows, options, {"none", "keys", "values"});
  Figure figure;
  figure.panel_aspect = (layers - first) / static_cast<double>(layers);
  for (const std::string& label : labels) {
    for (const std::string& weighting : weightings) {
      const FigureRows own = rows_with(rows, {{col::kLabel, label}, {col::kWeighting, weighting}});
      if (own.empty()) continue;
      figure.panels.push_back(mean_map_panel(own, layers, first, options.layer_base));
      figure.panels.back().title = joined_parts(
          {labels.size() > 1 ? label : "", weightings.size() > 1 ? weighting_name(weighting) : ""});
    }
  }
  figure.colour_label =
      fmt::format("fraction{}", weightings.size() > 1 || is_difference_name(weightings.front())
                                    ? ""
                                    : " of " + weighting_name(weightings.front()));
  if (is_difference_name(weightings.front())) {
    figure.colour_label = "difference of fractions";
    if (weightings.size() == 1) figure.note = weighting_name(weightings.front());
  }
  const int by_weighting = weightings.size() > 1 ? static_cast<int>(weightings.size()) : 0;
  lay_out(figure, options, by_weighting, 3);
  return figure;
}

namespace {

/// Returns the row of a layer that `rows` have.
const FigureRow& row_of_layer(const FigureRows& rows, int layer) {
  return *std::ranges::find_if(rows.rbegin(), rows.rend(),
                               [&](const FigureRow& row) { return layer_of(row) == layer; });
}

/// Returns the number of heads of the arrays in `rows`. @param num_axes  of the arrays
int num_heads_of(const FigureRows& rows, std::size_t num_axes) {
  std::int64_t heads = 1;
  for (const FigureRow& row : rows) {
    heads = std::max(heads, row.array(col::kWeight, num_axes).shape.front());
  }
  return static_cast<int>(std::min<std::int64_t>(heads, kMaxHeads));
}

/// Returns a heatmap of target heads by all buffered heads, with lines between layers.
FigurePanel signed_panel(const FigureRows& rows, int layer, int heads) {
  const MapSide sources{.numbers = numbers_from(0, layer + 1), .inner = heads};
  FigurePanel panel = map_panel(
      map_of_array(row_of_layer(rows, layer), col::kWeight, 3, heads, (layer + 1) * heads), sources,
      {"", numbers_from(0, heads), true});
  std::get<HeatmapPanel>(panel.content).is_signed = true;
  panel.x.min = -0.5;
  panel.y = {.hides_numbers = true};
  return panel;
}

}  // namespace

Figure router_heads_figure(FigureSources sources, const FigureOptions& options) {
  FigureRows rows = rows_of_kind(sources, options, "head_map");
  const std::vector<std::string> weightings = weightings_of(rows, options, {"none"});
  throw_if(weightings.size() > 1, OptionName("weighting"),
           "maps per head show a single weighting, got {}", fmt::join(weightings, ","));
  std::erase_if(
      rows, [&](const FigureRow& row) { return row.text(col::kWeighting) != weightings.front(); });
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  std::vector<FigurePanel> panels;
  std::vector<int> layers;
  std::vector<std::string> models;  // of the panels
  for (const std::string& label : labels) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    const int heads = num_heads_of(own, 2);
    for (const int layer : layers_of_panels(own, options)) {
      const MatrixD values =
          map_of_array(row_of_layer(own, layer), col::kWeight, 2, heads, layer + 1);
      panels.push_back(router_heads_panel(values, options.layer_base));
      layers.push_back(layer);
      models.push_back(label);
    }
  }
  Figure figure =
      figure_of_router_heads(std::move(panels), layers, options.layer_base, options.columns);
  figure.colour_label = "fraction of " + weighting_name(weightings.front());
  for (std::size_t i = 0; labels.size() > 1 && i < models.size(); ++i) {
    figure.panels[i].title.insert(0, models[i] + ", ");
  }
  return figure;
}

Figure router_signed_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_of_kind(sources, options, "weight");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<int> all_layers = layers_of_panels(rows, options);
  const int deepest = *std::ranges::max_element(all_layers);
  Figure figure;
  figure.colour_label = "weight";
  for (const std::string& label : labels) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    const int heads = num_heads_of(own, 3);
    const std::vector<int> layers = layers_of_panels(own, options);
    for (const int layer : layers) {
      FigurePanel panel = signed_panel(own, layer, heads);
      const bool is_last = layer == layers.back();
      // One scale for all layers, so that cells are squares and equal layers are aligned.
      panel.x.max = (deepest + 1) * heads - 0.5;
      panel.x.label = is_last ? "buffered layer and its heads" : "";
      panel.x.hides_numbers = !is_last;
      panel.x.ticks = layer_ticks(is_last ? deepest + 1 : 0, options.layer_base);
      for (AxisTick& tick : panel.x.ticks) tick.at = (tick.at + 0.5) * heads - 0.5;
      panel.y.label = fmt::format("layer {}", layer + options.layer_base);
      if (labels.size() > 1 && layer == layers.front()) panel.title = label;
      figure.panels.push_back(std::move(panel));
    }
  }
  figure.note = "rows: heads, from top to bottom";
  figure.columns = options.columns > 0 ? options.columns : 1;
  figure.panel_aspect = 1.0 / (deepest + 1);
  figure.is_wide = true;
  return figure;
}

namespace {

/// Returns the shares of one decoder: reads, from the first on top, by sources; q, k, v averaged.
FigurePanel sources_panel(const FigureRows& rows, int base) {
  const bool is_depth = rows.front().text(col::kRead) != "kv";
  const int sources = count_of(rows, col::kSource, 2 * kMaxLayers + 1);
  MatrixD values = MatrixD::Constant(sources, sources, NAN);
  for (const FigureRow& row : rows) {
    const std::string& read = row.text(col::kRead);
    const int layer = layer_of(row);
    const int source = row.index(col::kSource, sources);
    int line = layer;
    if (is_depth) line = read == "final" ? sources - 1 : 2 * layer + (read == "mlp" ? 1 : 0);
    if (source > line || line >= sources) continue;
    const bool is_split = read == "q" || read == "k" || read == "v";
    double& cell = values(line, source);
    cell = (std::isnan(cell) ? 0.0 : cell) + row.number(col::kShare) / (is_split ? 3.0 : 1.0);
  }
  return router_sources_panel(values, is_depth, base);
}

}  // namespace

Figure router_sources_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, "source_map"}});
  throw_if<NothingToShow>(
      rows.empty(),
      "figure: the results contain no rows of kind 'source_map'; run lime-metrics router with a "
      "capture of the weights of routers");
  Figure figure;
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> weightings =
      weightings_of(rows, options, {"none", "keys", "values", "outputs"});
  for (const std::string& label : labels) {
    for (const std::string& weighting : weightings) {
      FigureRows own = rows_with(rows, {{col::kLabel, label}});
      if (!weighting.empty()) own = rows_with(own, {{col::kWeighting, weighting}});
      if (own.empty()) continue;
      figure.panels.push_back(sources_panel(own, options.layer_base));
      const bool is_raw = weighting.empty() || weighting == "none";
      figure.panels.back().title =
          joined_parts({label, is_raw ? "" : fmt::format("weight \xC3\x97 norm of {}", weighting)});
    }
  }
  figure.colour_label = "fraction of the weight";
  figure.panel_aspect = 1.0;
  lay_out(figure, options, 0, 3);
  return figure;
}

}  // namespace lime
