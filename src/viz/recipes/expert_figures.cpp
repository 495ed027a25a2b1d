// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/expert_figures.h"

#include <map>
#include <set>

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// Most layers with a panel of their own, unless they are requested.
constexpr std::size_t kMaxExpertPanels = 6;
/// Most tokens whose experts are written into the cells.
constexpr std::size_t kMaxNumberedTokens = 48;
constexpr int kMaxTokenIds = 1 << 30;

FigureRows expert_rows_of_kind(FigureSources sources, const FigureOptions& options,
                               const std::string& kind, const std::string& remedy) {
  FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, kind}});
  throw_if<NothingToShow>(rows.empty(), "figure: the results contain no rows of kind '{}'; {}",
                          kind, remedy);
  return rows;
}

int num_experts_of(const FigureRows& rows, std::size_t num_axes) {
  std::int64_t experts = 1;
  for (const FigureRow& row : rows) {
    experts = std::max(experts, row.array(col::kShare, num_axes).shape.back());
  }
  return static_cast<int>(std::min<std::int64_t>(experts, kMaxHeads));
}

/// Returns the rows by label and layer: of the requested layers, else of some.
std::vector<std::pair<std::string, FigureRows>> by_layer(const FigureRows& rows,
                                                         const FigureOptions& options) {
  std::set<int> available;
  for (const FigureRow& row : rows) available.insert(row.index(col::kLayer, kMaxLayers));
  const std::vector<int> layers = layers_to_draw(options, available, kMaxExpertPanels);
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  std::vector<std::pair<std::string, FigureRows>> parts;
  for (const std::string& label : labels) {
    for (const int layer : layers) {
      const FigureRows own = rows_where(rows, [&](const FigureRow& row) {
        return row.text(col::kLabel) == label && row.index(col::kLayer, kMaxLayers) == layer;
      });
      if (own.empty()) continue;
      parts.emplace_back(joined_parts({labels.size() > 1 ? label : "",
                                       fmt::format("layer {}", layer + options.layer_base)}),
                         own);
    }
  }
  return parts;
}

}  // namespace

Figure experts_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows =
      expert_rows_of_kind(sources, options, "load", "run lime-metrics experts again");
  // All layers, as in maps of routers over depth: dense ones are empty.
  const int layers = count_of(rows, col::kLayer, kMaxLayers);
  const int experts = num_experts_of(rows, 1);
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  for (const std::string& label : labels) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    std::size_t num_values = 0;
    for (const FigureRow& row : own) num_values += row.array(col::kShare, 1).values.size();
    MatrixD values = empty_map(own, layers, experts, num_values);
    for (const FigureRow& row : own) {
      values.row(row.index(col::kLayer, layers)) = map_of_array(row, col::kShare, 1, 1, experts);
    }
    figure.panels.push_back(map_panel(values, {"expert", numbers_from(0, experts)},
                                      {"layer", numbers_from(options.layer_base, layers), true}));
    if (labels.size() > 1) figure.panels.back().title = label;
  }
  figure.colour_label = "fraction of the selections";
  add_note(figure, fmt::format("balanced: {:.3g}", 1.0 / experts));
  lay_out(figure, options, 0, 3);
  return figure;
}

Figure expert_groups_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = expert_rows_of_kind(
      sources, options, "group",
      "run lime-metrics experts with --domains, or with a capture that has classes");
  const int experts = num_experts_of(rows, 1);
  const std::vector<std::string> kinds = distinct(rows, col::kGroup);
  Figure figure;
  for (const std::string& kind : kinds) {
    for (const auto& [title, own] : by_layer(rows_with(rows, {{col::kGroup, kind}}), options)) {
      const std::vector<std::string> names = distinct(own, col::kName);
      MatrixD values = empty_map(own, static_cast<int>(names.size()), experts,
                                 names.size() * static_cast<std::size_t>(experts));
      for (const FigureRow& row : own) {
        const auto line = std::ranges::find(names, row.text(col::kName)) - names.begin();
        values.row(line) = map_of_array(row, col::kShare, 1, 1, experts);
      }
      FigurePanel panel = map_panel(values, {"expert", numbers_from(0, experts)},
                                    {kind, numbers_from(0, static_cast<int>(names.size())), true});
      panel.y = token_axis(kind, names, {}, true);
      panel.y.if_crowded.reset();
      panel.title = kinds.size() > 1 ? joined_parts({title, kind}) : title;
      figure.panels.push_back(std::move(panel));
    }
  }
  figure.colour_label = "fraction of the selections";
  lay_out(figure, options, 0, 3);
  return figure;
}

Figure expert_pairs_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = expert_rows_of_kind(sources, options, "coactivation",
                                              "run lime-metrics experts with --coactivation");
  Figure figure;
  for (const auto& [title, own] : by_layer(rows, options)) {
    const int experts = num_experts_of(own, 2);
    figure.panels.push_back(map_panel(map_of_array(own.front(), col::kShare, 2, experts, experts),
                                      {"other expert", numbers_from(0, experts)},
                                      {"expert", numbers_from(0, experts), true}));
    figure.panels.back().title = title;
  }
  figure.colour_label = "fraction of the expert's tokens";
  figure.panel_aspect = 1.0;
  lay_out(figure, options, 0, 3);
  return figure;
}

Figure expert_tokens_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_of_layers(
      expert_rows_of_kind(sources, options, "token", "run lime-metrics experts with --sequence"),
      options);
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  for (const std::string& label : labels) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    std::map<int, std::string> tokens;  // texts by position
    for (const FigureRow& row : own) {
      const std::string& text = row.text(col::kText);
      tokens[row.index(col::kPosition, kMaxTokens)] =
          text.empty() ? std::to_string(row.index(col::kToken, kMaxTokenIds)) : text;
    }
    std::vector<int> positions;
    std::vector<std::string> texts;
    for (const auto& [position, text] : tokens) {
      positions.push_back(position);
      texts.push_back(text);
    }
    RowsSide layers = rows_side("layer", own, col::kLayer, options.layer_base);
    layers.side.is_downward = true;
    FigurePanel panel =
        map_of_rows(own, {{.numbers = positions}, col::kPosition}, layers, col::kExpert);
    auto& map = std::get<HeatmapPanel>(panel.content);
    map.shows_numbers = positions.size() <= kMaxNumberedTokens;
    map.decimals = 0;
    panel.x = token_axis("token", texts, positions);
    if (labels.size() > 1) panel.title = label;
    figure.panels.push_back(std::move(panel));
  }
  figure.colour_label = "expert with the largest weight";
  figure.is_wide = true;
  figure.columns = options.columns > 0 ? options.columns : 1;
  figure.panel_aspect = 0.3;
  return figure;
}

}  // namespace lime
