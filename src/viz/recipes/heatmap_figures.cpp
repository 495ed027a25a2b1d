// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/heatmap_figures.h"

#include <set>

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

constexpr int kMaxNumberedLayers = 6;

FigurePanel similarity_panel(const FigureRows& rows, const std::string& label,
                             const std::string& other, const Column& measure, int layer_base) {
  FigurePanel panel =
      map_of_rows(rows, rows_side("layer of " + other, rows, col::kOtherLayer, layer_base),
                  rows_side("layer of " + label, rows, col::kLayer, layer_base), measure);
  auto& map = std::get<HeatmapPanel>(panel.content);
  map.shows_numbers = std::max(map.values.rows(), map.values.cols()) <= kMaxNumberedLayers;
  return panel;
}

/// Quantile of the magnitudes at the end of the colour scale of tokens: few are far above all
/// others. A largest value that is not much above it ends the scale in its place.
constexpr double kTokenColours = 0.97;
constexpr double kFarAbove = 1.5;

FigurePanel token_panel(const FigureRows& rows, const Column& measure, bool is_signed,
                        int layer_base) {
  std::set<int> layers;
  std::map<int, std::string> tokens;  // texts by position
  for (const FigureRow& row : rows) {
    layers.insert(row.index(col::kLayer, kMaxLayers) + layer_base);
    tokens[row.index(col::kPosition, kMaxTokens)] = row.text(col::kText);
  }
  std::vector<int> positions;
  std::vector<std::string> texts;
  for (const auto& [position, text] : tokens) {
    positions.push_back(position);
    texts.push_back(text);
  }
  FigurePanel panel =
      map_of_rows(rows, {{.numbers = positions}, col::kPosition},
                  {{"layer", {layers.begin(), layers.end()}}, col::kLayer, layer_base}, measure);
  std::get<HeatmapPanel>(panel.content).is_signed = is_signed;
  panel.x = token_axis("token", texts, positions);
  return panel;
}

/// Sets the colour range of maps: from 0 to the quantile above, to both sides of 0 if values are
/// signed. Cells of larger magnitude have the last colour and a mark, which the note explains.
void set_robust_range(Figure& figure, bool is_signed) {
  std::vector<double> sizes;
  for (const FigurePanel& panel : figure.panels) {
    const auto* const map = std::get_if<HeatmapPanel>(&panel.content);
    if (map == nullptr) continue;
    for (const double value : map->values.reshaped()) {
      if (std::isfinite(value)) sizes.push_back(std::abs(value));
    }
  }
  if (sizes.empty()) return;
  const double largest = *std::ranges::max_element(sizes);
  const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(
                                      kTokenColours * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), at, sizes.end());
  double limit = largest > kFarAbove * *at ? *at : largest;
  if (!(limit > 0.0)) limit = largest > 0.0 ? largest : 1.0;
  figure.colour_range = {is_signed ? -limit : 0.0, limit};
  int num_clipped = 0;
  for (FigurePanel& panel : figure.panels) {
    auto* const map = std::get_if<HeatmapPanel>(&panel.content);
    if (map == nullptr) continue;
    for (int row = 0; row < map->values.rows(); ++row) {
      for (int col = 0; col < map->values.cols(); ++col) {
        if (!(std::abs(map->values(row, col)) > limit)) continue;
        map->marks.push_back({row, col, false});
        ++num_clipped;
      }
    }
  }
  if (num_clipped == 0) return;
  add_note(figure, fmt::format("{} value{} beyond the colour scale {} marked at a corner: up to "
                               "{:.3g} in magnitude",
                               num_clipped, num_clipped == 1 ? "" : "s",
                               num_clipped == 1 ? "is" : "are", largest));
}

/// Labels the tokens below the last panel only, if all panels show the same ones.
void share_token_axis(Figure& figure) {
  const auto tokens = [](const FigurePanel& panel) {
    std::vector<std::string> texts;
    for (const AxisTick& tick : panel.x.ticks) texts.push_back(tick.label);
    return texts;
  };
  for (const FigurePanel& panel : figure.panels) {
    if (tokens(panel) != tokens(figure.panels.front())) return;
  }
  for (std::size_t i = 0; i + 1 < figure.panels.size(); ++i) {
    figure.panels[i].x = {.hides_numbers = true};
  }
}

/// Mean error of first-order estimates, relative to the mean effect, from which they are not drawn.
constexpr double kUselessError = 0.5;

double error_of_attribution(const FigureRows& rows) {
  double size = 0.0;
  double error = 0.0;
  for (const FigureRow& row : rows) {
    if (!row.has(col::kAttribution)) continue;
    size += std::abs(row.number(col::kEffect));
    error += std::abs(row.number(col::kAttribution) - row.number(col::kEffect));
  }
  return size > 0.0 ? error / size : 0.0;
}

/// Returns effect and, with --measure attribution or if it is close, first-order estimate of whole
/// layers or sublayers. @param note  on estimates that are omitted
FigurePanel effect_curves(const FigureRows& rows, const FigureOptions& options, std::string& note) {
  const double error = error_of_attribution(rows);
  const bool has_estimate =
      std::ranges::any_of(rows, [](const FigureRow& row) { return row.has(col::kAttribution); });
  const bool draws_estimate = has_estimate && (error < kUselessError || !options.measure.empty());
  if (has_estimate && !draws_estimate) {
    note =
        fmt::format("first-order estimates are not drawn: mean error {:.0f} % of the mean effect",
                    100.0 * error);
  }
  FigurePanel panel{.x = {.label = "layer", .whole_numbers = true},
                    .y = {.label = "effect (nats per token)"}};
  CurvePanel curves;
  std::size_t number = 0;
  for (const std::string& part : distinct(rows, col::kPart)) {
    const FigureRows own = rows_with(rows, {{col::kPart, part}});
    curves.curves.push_back(layer_curve(
        own, {.value = col::kEffect, .low = col::kEffect.low, .high = col::kEffect.high},
        options.layer_base, part, group_style(number)));
    const std::size_t colour = group_colour(number++);
    if (!draws_estimate) continue;
    curves.curves.push_back(layer_curve(own, {.value = col::kAttribution, .low = {}},
                                        options.layer_base, part + ", first order",
                                        {colour, LinePattern::kDashed, MarkerShape::kNone, true}));
  }
  panel.content = std::move(curves);
  return panel;
}

/// Returns a row per layer (and head) from the first one with a component on, and a column per
/// head, source (and its head) or position;
/// crossed out where the interval of the effect contains 0.
FigurePanel effect_map(const FigureRows& rows, const Column& across, const Column& measure,
                       int layer_base) {
  // Sources of the residual stream count the embedding, then attention and MLP of each layer.
  const bool is_output = rows.front().has(col::kRead);
  const bool is_layer = across == col::kSource && !is_output;
  RowsSide x = rows_side(is_layer ? "source layer" : std::string(across.name), rows, across,
                         is_layer || across == col::kHead ? layer_base : 0, kMaxTokens);
  RowsSide y = rows_side("layer", rows, col::kLayer, layer_base);
  // Layer 0 has no routes.
  const int first = std::ranges::min(distinct_values(
      rows, [](const FigureRow& row) { return row.index(col::kLayer, kMaxLayers); }));
  y.side.numbers.erase(y.side.numbers.begin(), y.side.numbers.begin() + first);
  if (rows.front().has(col::kSourceHead)) {
    x.inner = col::kSourceHead;
    y.inner = col::kHead;
    x.side.inner = y.side.inner = count_of(rows, col::kHead, kMaxHeads);
  }
  FigurePanel panel = map_of_rows(rows, x, y, measure, [](const FigureRow& row) {
    return row.number(col::kEffect.low) <= 0.0 && row.number(col::kEffect.high) >= 0.0;
  });
  std::get<HeatmapPanel>(panel.content).is_signed = true;
  return panel;
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
  throw_if(!is_there(measure), OptionName("measure"),
           "the results contain no '{}'; expected cka, cka_debiased, procrustes, influence, "
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
  const bool is_cka = measure == col::kCka.name || measure == col::kCkaDebiased.name;
  if (is_cka) figure.colour_range = {0.0, 1.0};
  figure.panel_aspect = 1.0;
  const int few = std::min<int>(3, static_cast<int>(figure.panels.size()));
  lay_out(figure, options, few, 3);
  return figure;
}

Figure tokens_figure(FigureSources sources, const FigureOptions& options) {
  const std::string name =
      one_measure(options, "tokens", "entropy_contribution",
                  {"norm", "relative_norm", "next_cosine", "entropy_contribution",
                   "lens_probability", "lens_rank", "lens_kl"});
  const Column measure{name};
  constexpr std::array kOfLens = {col::kLensProbability, col::kLensRank, col::kLensKl};
  const bool is_lens = std::ranges::find(kOfLens, name, &Column::name) != kOfLens.end();
  const bool is_signed = name == "next_cosine" || name == "entropy_contribution";
  const FigureRows rows = rows_of_layers(rows_of(sources, options), options);
  // The last token has no successor: its cell stays empty.
  if (std::ranges::none_of(rows, [&](const FigureRow& row) { return row.has(measure); })) {
    throw NothingToShow("figure: no row contains the {} of a token{}", name,
                        is_lens ? "; capture again with --sites hidden,logit_lens" : "");
  }
  Figure figure;
  const std::vector<std::string> sites = distinct(rows, col::kSite);
  const std::size_t num_labels = distinct(rows, col::kLabel).size();
  for (const auto& [label, site] : distinct_texts(rows, col::kLabel, col::kSite)) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}, {col::kSite, site}});
    figure.panels.push_back(token_panel(own, measure, is_signed, options.layer_base));
    figure.panels.back().title =
        joined_parts({num_labels > 1 ? label : "", sites.size() > 1 ? site : ""});
  }
  figure.note = site_note(sites);
  figure.colour_label = measure_name(name);
  set_robust_range(figure, is_signed);
  figure.is_wide = true;
  figure.columns = options.columns > 0 ? options.columns : 1;
  figure.panel_aspect = 0.3;
  if (figure.columns == 1) share_token_axis(figure);
  return figure;
}

Figure sweep_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    // Of streams, those that are removed alone.
    const std::string& part = row.text(col::kPart);
    return row.has(col::kEffect) && row.has(col::kLayer) && part != "rescue" && part != "streams";
  });
  throw_if<NothingToShow>(
      rows.empty(), "figure: the results contain no component; run lime-capture sweep --over");
  const std::string measure = one_measure(options, "sweep", "effect");
  Figure figure;
  std::string omitted;
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  for (const auto& [label, read] : distinct_texts(rows, col::kLabel, col::kRead)) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}, {col::kRead, read}});
    Column across = {};
    for (const Column& column : std::initializer_list<Column>{
             col::kSource, col::kPosition, col::kHead, col::kExpert, col::kStream}) {
      if (across.is_none() && own.front().has(column)) across = column;
    }
    figure.panels.push_back(across.is_none()
                                ? effect_curves(own, options, omitted)
                                : effect_map(own, across, {measure}, options.layer_base));
    figure.panels.back().title =
        joined_parts({labels.size() > 1 ? label : "", read.empty() ? "" : "read by " + read});
  }
  const bool has_maps = std::holds_alternative<HeatmapPanel>(figure.panels.front().content);
  if (has_maps) {
    figure.colour_label = measure_name(measure) + " (nats per token)";
    set_robust_range(figure, true);
  }
  const bool has_crosses = std::ranges::any_of(figure.panels, [](const FigurePanel& panel) {
    const auto* const map = std::get_if<HeatmapPanel>(&panel.content);
    return map != nullptr && !map->marks.empty();
  });
  add_note(figure, !has_maps     ? intervals_note(figure, sources)
                   : has_crosses ? "crossed out: the interval contains 0"
                                 : "");
  add_note(figure, omitted);
  lay_out(figure, options, 0, 3);
  return figure;
}

Figure later_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows =
      rows_where(rows_with(rows_of(sources, options), {{col::kKind, "later"}}),
                 [](const FigureRow& row) { return row.text(col::kPart) == "layer"; });
  throw_if<NothingToShow>(
      rows.empty(),
      "figure: the results contain no changes of later layers; run lime-capture "
      "sweep --over layers --later");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  for (const std::string& label : labels) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    figure.panels.push_back(map_of_rows(
        own, rows_side("later layer", own, col::kLaterLayer, options.layer_base),
        rows_side("layer removed", own, col::kLayer, options.layer_base), col::kChange));
    if (labels.size() > 1) figure.panels.back().title = label;
  }
  figure.colour_label = "change of what the later layer writes, relative to its norm";
  set_robust_range(figure, false);
  figure.panel_aspect = 1.0;
  lay_out(figure, options, 0, 3);
  return figure;
}

}  // namespace lime
