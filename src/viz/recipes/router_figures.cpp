// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/errors.h"
#include "viz/recipes/recipes.h"

namespace lime {
namespace {

constexpr double kNoCell = std::numeric_limits<double>::quiet_NaN();

std::vector<FigureRow> rows_of_kind(std::span<const FigureSource> sources,
                                    const FigureOptions& options, const std::string& kind) {
  std::vector<FigureRow> rows = rows_of(sources, options);
  std::erase_if(rows, [&](const FigureRow& row) {
    const bool is_bare = !row.has("weighting") || row.text("weighting") == "none";
    return row.text("kind") != kind || !is_bare;
  });
  if (rows.empty()) {
    throw NothingToShow(
        "figure: the results hold no rows of kind '{}'; run lime-metrics router "
        "with --detail {}",
        kind, kind == "weight" ? "weights" : "heads");
  }
  return rows;
}

int whole(const FigureRow& row, const std::string& key) {
  return static_cast<int>(row.number(key));
}

int largest(const std::vector<FigureRow>& rows, const std::string& key) {
  int value = 0;
  for (const FigureRow& row : rows) value = std::max(value, whole(row, key));
  return value;
}

std::vector<int> wanted_layers(const std::vector<FigureRow>& rows, const FigureOptions& options) {
  std::set<int> there;
  for (const FigureRow& row : rows) there.insert(whole(row, "layer"));
  if (options.layer.empty()) {
    // The first layer has nothing to choose from.
    if (there.size() > 1) there.erase(0);
    return {there.begin(), there.end()};
  }
  for (const int layer : options.layer) {
    if (there.contains(layer)) continue;
    throw InvalidArgument("figure: there is no router of layer {}; there are layers {}", layer,
                          fmt::join(there, ", "));
  }
  return options.layer;
}

}  // namespace

std::vector<AxisTick> layer_ticks(int count, int base) {
  constexpr int kMostTicks = 10;
  int step = 1;
  // 1, 2, 5, 10, 20, 50, ...
  for (int i = 0; count > kMostTicks * step; ++i) step = i % 3 == 1 ? step / 2 * 5 : 2 * step;
  std::vector<AxisTick> ticks;
  for (int l = 0; l < count; ++l) {
    if ((l + base) % step == 0)
      ticks.push_back({static_cast<double>(l), fmt::format("{}", l + base)});
  }
  return ticks;
}

/// Leaves of many panels' labels only those at the edges of the sheet, and of ticks the outermost.
void thin_out_labels(Figure& figure) {
  constexpr std::size_t kFew = 9;
  const std::size_t count = figure.panels.size();
  const auto columns = static_cast<std::size_t>(figure.columns);
  if (count <= kFew) return;
  for (std::size_t i = 0; i < count; ++i) {
    FigurePanel& panel = figure.panels[i];
    if (i % columns != 0) panel.y.label.clear();
    if (i + columns < count) panel.x.label.clear();
    for (FigureAxis* const axis : {&panel.x, &panel.y}) {
      if (axis->ticks.size() > 2) axis->ticks = {axis->ticks.front(), axis->ticks.back()};
    }
  }
}

Figure router_mean_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  const std::vector<FigureRow> rows = rows_of_kind(sources, options, "mean_map");
  const int layers = largest(rows, "layer") + 1;
  // The first layer has nothing to choose from.
  const int first = layers > 1 ? 1 : 0;
  Figure figure;
  figure.panel_aspect = (layers - first) / static_cast<double>(layers);
  figure.colour_label = "share of |R|";
  const std::vector<std::string> labels = distinct(rows, "label");
  for (const std::string& label : labels) {
    MapPanel map{.values = MatrixD::Constant(layers - first, layers, kNoCell)};
    for (const FigureRow& row : rows) {
      if (row.text("label") != label || whole(row, "layer") < first) continue;
      map.values(layers - 1 - whole(row, "layer"), whole(row, "source_layer")) =
          row.number("weight");
    }
    map.shows_numbers = layers <= 6;
    FigurePanel panel;
    panel.title = labels.size() > 1 ? label : "";
    panel.x = {.label = "buffered layer", .ticks = layer_ticks(layers, options.layer_base)};
    panel.y = {.label = "layer", .ticks = layer_ticks(layers - first, options.layer_base + first)};
    for (AxisTick& tick : panel.y.ticks) tick.at = layers - 1 - first - tick.at;
    panel.content = std::move(map);
    figure.panels.push_back(std::move(panel));
  }
  figure.columns = columns_for(figure.panels.size(), options.columns);
  return figure;
}

Figure router_heads_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  const std::vector<FigureRow> rows = rows_of_kind(sources, options, "head_map");
  const int heads = largest(rows, "head") + 1;
  Figure figure;
  figure.colour_label = "share of |R|";
  for (const int layer : wanted_layers(rows, options)) {
    MapPanel map{.values = MatrixD::Constant(heads, layer + 1, kNoCell)};
    for (const FigureRow& row : rows) {
      if (whole(row, "layer") != layer) continue;
      map.values(heads - 1 - whole(row, "head"), whole(row, "source_layer")) = row.number("weight");
    }
    FigurePanel panel;
    panel.title = fmt::format("layer {}", layer + options.layer_base);
    panel.x = {.label = "buffered layer", .ticks = layer_ticks(layer + 1, options.layer_base)};
    panel.y = {.label = "head", .ticks = layer_ticks(heads, 0)};
    for (AxisTick& tick : panel.y.ticks) tick.at = heads - 1 - tick.at;
    panel.content = std::move(map);
    figure.panels.push_back(std::move(panel));
  }
  figure.columns = columns_for(figure.panels.size(), options.columns);
  figure.panel_aspect = 0.8;
  figure.is_wide = figure.columns >= 3;
  thin_out_labels(figure);
  return figure;
}

Figure router_signed_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  const std::vector<FigureRow> rows = rows_of_kind(sources, options, "weight");
  const int heads = largest(rows, "head") + 1;
  const std::vector<int> layers = wanted_layers(rows, options);
  const int deepest = *std::max_element(layers.begin(), layers.end());
  Figure figure;
  figure.colour_label = "weight";
  for (const int layer : layers) {
    const bool is_last = layer == layers.back();
    MapPanel map{.values = MatrixD::Constant(heads, (layer + 1) * heads, kNoCell),
                 .is_signed = true};
    for (const FigureRow& row : rows) {
      if (whole(row, "layer") != layer) continue;
      map.values(heads - 1 - whole(row, "head"),
                 whole(row, "source_layer") * heads + whole(row, "source_head")) =
          row.number("weight");
    }
    for (int l = 1; l <= layer; ++l) map.col_borders.push_back(l * heads);
    FigurePanel panel;
    // One scale for all layers, so that cells are squares and equal layers stand in columns.
    panel.x.min = -0.5;
    panel.x.max = (deepest + 1) * heads - 0.5;
    panel.x.label = is_last ? "buffered layer and its heads" : "";
    panel.x.hides_numbers = !is_last;
    if (is_last) panel.x.ticks = layer_ticks(deepest + 1, options.layer_base);
    for (AxisTick& tick : panel.x.ticks) tick.at = (tick.at + 0.5) * heads - 0.5;
    panel.y = {.label = fmt::format("layer {}", layer + options.layer_base), .hides_numbers = true};
    panel.content = std::move(map);
    figure.panels.push_back(std::move(panel));
  }
  figure.note = "rows: heads from top to bottom";
  figure.columns = options.columns > 0 ? options.columns : 1;
  figure.panel_aspect = 1.0 / (deepest + 1);
  figure.is_wide = true;
  return figure;
}

}  // namespace lime
