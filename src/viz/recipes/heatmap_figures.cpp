// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/measures.h"
#include "viz/recipes/recipe.h"

namespace lime {
namespace {

constexpr Eigen::Index kMaxNumberedLayers = 6;

FigurePanel similarity_panel(const FigureRows& rows, const std::string& label,
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
  return {.x = {.label = "layer of " + other, .ticks = layer_ticks(other_layers, layer_base)},
          .y = {.label = "layer of " + label, .ticks = layer_ticks(layers, layer_base)},
          .content = std::move(map)};
}

/// Quantile of a norm at the end of the colour scale: few tokens are far above all others.
constexpr double kTokenColours = 0.97;

struct TokenMeasure {
  Column column;
  const char* label;
  bool is_signed;
};

constexpr std::array kTokenMeasures = {
    TokenMeasure{col::kNorm, "norm", false},
    TokenMeasure{col::kRelativeNorm, "norm / median", false},
    TokenMeasure{col::kNextCosine, "cosine with next token", true},
    TokenMeasure{col::kEntropyContribution, "entropy contribution (nats)", true},
};

const TokenMeasure& token_measure(const FigureOptions& options) {
  const std::string wanted = one_measure(options, "tokens", "entropy_contribution");
  std::vector<std::string> known;
  for (const TokenMeasure& measure : kTokenMeasures) {
    if (wanted == measure.column.name) return measure;
    known.emplace_back(measure.column.name);
  }
  throw InvalidArgument("measure: unknown token measure (supported: {}), got '{}'",
                        fmt::join(known, ", "), wanted);
}

/// Returns ticks at the tokens with their texts, or with positions if these do not fit.
FigureAxis tokens_axis(const std::map<int, std::string>& positions) {
  const bool has_texts =
      std::ranges::none_of(positions, [](const auto& token) { return token.second.empty(); });
  FigureAxis axis{.label = "token"};
  CrowdedAxis numbers{.addition = ", position", .ticks = {}};
  for (const auto& [position, text] : positions) {
    const auto at = static_cast<double>(numbers.ticks.size());
    numbers.ticks.push_back({at, std::to_string(position)});
    axis.ticks.push_back({at, text});
  }
  if (has_texts) {
    axis.if_crowded = std::move(numbers);
    return axis;
  }
  constexpr int kMostPositions = 10;
  const int step = round_step(static_cast<int>(positions.size()), kMostPositions);
  axis.label += numbers.addition;
  axis.ticks.clear();
  for (std::size_t i = 0; i < numbers.ticks.size(); i += static_cast<std::size_t>(step)) {
    axis.ticks.push_back(numbers.ticks[i]);
  }
  return axis;
}

FigurePanel token_panel(const FigureRows& rows, const TokenMeasure& measure, int layer_base) {
  std::set<int> layers;
  std::map<int, std::string> positions;  // with texts
  for (const FigureRow& row : rows) {
    layers.insert(row.index(col::kLayer, kMostLayers));
    positions[row.index(col::kPosition, kMostTokens)] = row.text(col::kText);
  }
  FigurePanel panel{.x = tokens_axis(positions), .y = {.label = "layer"}};
  std::map<int, Eigen::Index> row_of, column_of;
  for (const int layer : layers) {
    const auto at = static_cast<Eigen::Index>(row_of.size());
    row_of[layer] = at;
    panel.y.ticks.push_back({static_cast<double>(at), std::to_string(layer + layer_base)});
  }
  for (const auto& [position, text] : positions) {
    column_of.emplace(position, static_cast<Eigen::Index>(column_of.size()));
  }
  HeatmapPanel map;
  map.values = empty_map(rows, static_cast<int>(layers.size()), static_cast<int>(positions.size()));
  map.is_signed = measure.is_signed;
  for (const FigureRow& row : rows) {
    map.values(row_of[row.index(col::kLayer, kMostLayers)],
               column_of[row.index(col::kPosition, kMostTokens)]) = row.number(measure.column);
  }
  panel.content = std::move(map);
  return panel;
}

/// Returns the range from 0 to the quantile above; larger values have the last colour.
std::pair<double, double> norm_range(const Figure& figure) {
  std::vector<double> values;
  for (const FigurePanel& panel : figure.panels) {
    for (const double value : std::get<HeatmapPanel>(panel.content).values.reshaped()) {
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  if (values.empty()) return {0.0, 1.0};
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(
                                       kTokenColours * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return {0.0, *at > 0.0 ? *at : 1.0};
}

/// Uses a diverging scale only if values have both signs.
void show_signs(Figure& figure) {
  bool has_negative = false;
  for (const FigurePanel& panel : figure.panels) {
    const auto& values = std::get<HeatmapPanel>(panel.content).values;
    has_negative = has_negative || (values.array() < 0.0).any();
  }
  for (FigurePanel& panel : figure.panels) {
    auto& map = std::get<HeatmapPanel>(panel.content);
    map.is_signed = map.is_signed && has_negative;
  }
}

}  // namespace

Figure similarity_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_of(sources, options);
  const auto is_there = [&](const std::string& name) {
    return std::ranges::any_of(rows, [&](const FigureRow& row) { return row.has({name}); });
  };
  std::string measure = "cka_debiased";
  for (const char* const usual : {"mutual_knn", "influence", "procrustes", "cka_debiased"}) {
    if (is_there(usual)) measure = usual;
  }
  measure = one_measure(options, "similarity", measure);
  throw_if(
      !is_there(measure),
      "measure: the results contain no '{}'; expected cka, cka_debiased, procrustes, influence, "
      "angle, mutual_knn or imbalance",
      measure);
  Figure figure;
  const std::vector<std::string> sites = sites_of(rows);
  for (const auto& [label, other, site] :
       distinct_texts(rows, col::kLabel, col::kOtherLabel, col::kSite)) {
    const FigureRows part =
        rows_with(rows, {{col::kLabel, label}, {col::kOtherLabel, other}, {col::kSite, site}});
    figure.panels.push_back(similarity_panel(part, label, other, {measure}, options.layer_base));
    figure.panels.back().title = sites.size() > 1 ? site : "";
  }
  figure.note = site_note(sites);
  figure.colour_label = measure_name(measure);
  // CKA has an absolute scale; debiased CKA may be slightly below 0.
  if (measure.starts_with("cka")) figure.colour_range = {0.0, 1.0};
  figure.panel_aspect = 1.0;
  const int few = std::min<int>(3, static_cast<int>(figure.panels.size()));
  lay_out(figure, options, few, 3);
  return figure;
}

Figure tokens_figure(FigureSources sources, const FigureOptions& options) {
  const TokenMeasure& measure = token_measure(options);
  const FigureRows rows = rows_of_layers(rows_of(sources, options), options);
  // The last token has no successor: its cell stays empty.
  if (std::ranges::none_of(rows, [&](const FigureRow& row) { return row.has(measure.column); })) {
    throw NothingToShow("figure: no row contains the {} of a token", measure.column.name);
  }
  Figure figure;
  const std::vector<std::string> sites = distinct(rows, col::kSite);
  const std::size_t num_labels = distinct(rows, col::kLabel).size();
  for (const auto& [label, site] : distinct_texts(rows, col::kLabel, col::kSite)) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}, {col::kSite, site}});
    figure.panels.push_back(token_panel(own, measure, options.layer_base));
    figure.panels.back().title =
        joined_parts({num_labels > 1 ? label : "", sites.size() > 1 ? site : ""});
  }
  show_signs(figure);
  figure.note = site_note(sites);
  figure.colour_label = measure.label;
  if (!measure.is_signed) {
    figure.colour_range = norm_range(figure);
    add_note(figure, "norms beyond the colour scale are clipped");
  }
  figure.is_wide = true;
  figure.columns = options.columns > 0 ? options.columns : 1;
  figure.panel_aspect = 0.3;
  return figure;
}

}  // namespace lime
