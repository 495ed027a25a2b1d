// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/attention_figures.h"

#include <set>

#include "viz/map_panel.h"
#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// Maximum number of legible patterns; beyond, layers are omitted.
constexpr std::size_t kMaxPatterns = 64;
constexpr int kWideColumns = 3;
constexpr int kMaxKeysInColumn = 24;  // in adjacent panels: more with their texts need a page
constexpr double kRoutedAspect = 0.6;
constexpr int kMaxNumbered = 8;
constexpr double kFaintest = 1e-3;  // weight of the first colour

int place_of(const FigureRow& row, const Column& column) {
  return row.index(column, column == col::kLayer ? kMaxLayers : kMaxHeads);
}

std::set<int> numbers_of(const FigureRows& rows, const Column& column) {
  std::set<int> numbers;
  for (const FigureRow& row : rows) numbers.insert(place_of(row, column));
  return numbers;
}

FigureRows attention_rows(FigureSources sources, const FigureOptions& options,
                          const std::string& kind, const std::string& remedy) {
  FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, kind}});
  throw_if<NothingToShow>(rows.empty(), "figure: the results contain no rows of kind '{}'; {}",
                          kind, remedy);
  rows = rows_of_layers(rows, options);
  if (options.head.empty()) return rows;
  const std::vector<int> heads =
      selected_numbers("head", options.head, options.layer_base, numbers_of(rows, col::kHead));
  std::erase_if(rows,
                [&](const FigureRow& row) { return !contains(heads, place_of(row, col::kHead)); });
  return rows;
}

struct HeadPlace {
  std::string label;
  int layer = 0;
  int head = 0;
  auto operator<=>(const HeadPlace&) const = default;
};

/// Omits layers, evenly, if there are too many heads to draw. @return a note on the omission
std::string thin_out_layers(std::vector<HeadPlace>& places, const FigureOptions& options) {
  std::set<int> available;
  for (const HeadPlace& place : places) available.insert(place.layer);
  if (places.size() <= kMaxPatterns || !options.layer.empty() || available.size() < 2) return "";
  const std::size_t per_layer = (places.size() + available.size() - 1) / available.size();
  std::vector<int> kept =
      layers_to_draw(options, available, std::max<std::size_t>(1, kMaxPatterns / per_layer));
  std::erase_if(places, [&](const HeadPlace& place) { return !contains(kept, place.layer); });
  for (int& layer : kept) layer += options.layer_base;
  return fmt::format("layers {} of {}", fmt::join(kept, ", "), available.size());
}

/// Returns the token texts of `label`: from its rows of kind token, else numbers.
std::vector<std::string> texts_of(FigureSources sources, const FigureRow& figure_row,
                                  std::size_t num_tokens) {
  std::vector<std::string> texts(num_tokens);
  for (std::size_t t = 0; t < num_tokens; ++t) texts[t] = std::to_string(t);
  for (const ResultRow& own : sources[figure_row.source].results.rows) {
    const FigureRow row{&own, figure_row.source, figure_row.file};
    if (row.text(col::kKind) != "token" || row.text(col::kLabel) != figure_row.text(col::kLabel))
      continue;
    const auto position = static_cast<std::size_t>(row.index(col::kPosition, kMaxTokens));
    if (position >= texts.size()) continue;
    texts[position] = row.has(col::kText) ? row.text(col::kText)
                                          : fmt::format("#{:.0f}", row.number(col::kToken));
  }
  return texts;
}

/// Returns a figure with a panel per head. @param panel_of  of the rows of one head.
Figure head_figure(const FigureRows& rows, const FigureOptions& options,
                   Figure (*figure_of)(std::vector<FigurePanel>),
                   const std::function<FigurePanel(const FigureRows&)>& panel_of) {
  std::vector<HeadPlace> places;  // in the order of the results
  std::map<HeadPlace, FigureRows> rows_of_head;
  for (const FigureRow& row : rows) {
    const HeadPlace place{row.text(col::kLabel), place_of(row, col::kLayer),
                          place_of(row, col::kHead)};
    FigureRows& own = rows_of_head[place];
    if (own.empty()) places.push_back(place);
    own.push_back(row);
  }
  const std::string left_out = thin_out_layers(places, options);
  const bool has_labels = distinct(rows, col::kLabel).size() > 1;
  std::vector<FigurePanel> panels;
  for (const HeadPlace& place : places) {
    panels.push_back(panel_of(rows_of_head.at(place)));
    panels.back().title =
        fmt::format("{}layer {}, head {}", has_labels ? place.label + ", " : "",
                    place.layer + options.layer_base, place.head + options.layer_base);
  }
  Figure figure = figure_of(std::move(panels));
  figure.columns = columns_for(places.size(), options.columns);
  figure.note = left_out;
  thin_out_labels(figure);
  return figure;
}

/// Returns an array as a map of `rows` x `columns`; 0 where it has no element.
MatrixD map_with_zeros(const FigureRow& row, const NumberColumn& value, int rows, int columns) {
  const MatrixD map = map_of_array(row, value, 2, rows, columns);
  return map.array().isNaN().select(0.0, map);
}

/// Returns the length of the first dimension of an array.
int num_lines_of(const FigureRow& row, const NumberColumn& value, int limit) {
  return static_cast<int>(std::min<std::int64_t>(row.array(value, 2).shape.front(), limit));
}

FigurePanel measure_panel(const FigureRows& rows, int layer_base) {
  const auto side = [&](const char* label, const Column& column) {
    RowsSide rows_side{{label}, column, layer_base};
    for (const int number : numbers_of(rows, column))
      rows_side.side.numbers.push_back(number + layer_base);
    return rows_side;
  };
  FigurePanel panel =
      map_of_rows(rows, side("head", col::kHead), side("layer", col::kLayer), col::kMean);
  panel.title = rows.front().text(col::kLabel);
  auto& map = std::get<HeatmapPanel>(panel.content);
  map.shows_numbers = std::max(map.values.rows(), map.values.cols()) <= kMaxNumbered;
  return panel;
}

}  // namespace

FigurePanel attention_panel(const MatrixD& pattern, const std::vector<std::string>& texts) {
  HeatmapPanel map;
  map.values = pattern.colwise().reverse();
  for (Eigen::Index q = 0; q < pattern.rows(); ++q) {
    // Later keys are masked.
    map.values.row(pattern.rows() - 1 - q).tail(pattern.cols() - 1 - q).setConstant(NAN);
  }
  return {.x = token_axis("key", texts),
          .y = token_axis("query", texts, {}, true),
          .content = std::move(map)};
}

FigurePanel routed_attention_panel(const MatrixD& shares, std::int64_t query,
                                   const std::vector<std::string>& texts, int layer_base) {
  MatrixD values = shares;
  values.rightCols(shares.cols() - 1 - query).setConstant(NAN);
  FigurePanel panel = map_panel(
      values, {}, {"buffered layer", numbers_from(layer_base, static_cast<int>(shares.rows()))});
  panel.x = token_axis("key", texts);
  return panel;
}

Figure figure_of_attention(std::vector<FigurePanel> panels) {
  Figure figure;
  figure.name = "attention";
  figure.panel_aspect = 1.0;
  figure.colour_label = "attention";
  // Most weights are far below that of a sink.
  figure.colour_range = std::pair(kFaintest, 1.0);
  figure.logarithmic_colours = true;
  figure.panels = std::move(panels);
  return figure;
}

Figure figure_of_routed_attention(std::vector<FigurePanel> panels) {
  Figure figure;
  figure.name = "attention-routed";
  figure.panel_aspect = 0.5;
  figure.colour_label = "fraction read";
  figure.panels = std::move(panels);
  const double largest = colour_range_of(figure).second;
  figure.colour_range = std::pair(0.0, largest > 0.0 ? largest : 1.0);
  return figure;
}

Figure attention_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows =
      attention_rows(sources, options, "weight", "run lime-metrics attention with --sequence N");
  int most_keys = 0;
  const auto panel_of = [&](const FigureRows& own) {
    const int tokens = num_lines_of(own.back(), col::kWeight, kMaxTokens);
    most_keys = std::max(most_keys, tokens);
    return attention_panel(map_with_zeros(own.back(), col::kWeight, tokens, tokens),
                           texts_of(sources, own.front(), static_cast<std::size_t>(tokens)));
  };
  Figure figure = head_figure(rows, options, figure_of_attention, panel_of);
  figure.is_wide = figure.columns >= kWideColumns || figure.columns * most_keys > kMaxKeysInColumn;
  return figure;
}

Figure attention_heads_figure(FigureSources sources, const FigureOptions& options) {
  const std::string measure = one_measure(
      options, "attention-heads", "entropy",
      {"entropy", "effective_keys", "distance", "first_share", "previous_share", "own_share"});
  const FigureRows rows =
      rows_with(attention_rows(sources, options, "head", "they are from a different version"),
                {{col::kMeasure, measure}});
  Figure figure;
  for (const std::string& label : distinct(rows, col::kLabel)) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}});
    figure.panels.push_back(measure_panel(own, options.layer_base));
  }
  if (figure.panels.size() == 1) figure.panels.front().title.clear();
  figure.colour_label = measure_name(measure);
  const double largest = colour_range_of(figure).second;
  figure.colour_range = std::pair(0.0, largest > 0.0 ? largest : 1.0);
  figure.panel_aspect = 1.0;
  lay_out(figure, options, 0, kWideColumns);
  return figure;
}

Figure attention_layers_figure(FigureSources sources, const FigureOptions& options) {
  const std::string measure = one_measure(options, "attention-layers", "sink_rate",
                                          {"sink_rate", "entropy", "effective_keys", "distance",
                                           "first_share", "previous_share", "own_share"});
  const FigureRows rows =
      rows_with(attention_rows(sources, options, "layer", "they are from a different version"),
                {{col::kMeasure, measure}});
  throw_if<NothingToShow>(rows.empty(), "figure: no row contains the {} of a layer", measure);
  Figure figure;
  figure.panels.push_back(
      layer_panel(rows, {.y_label = measure_name(measure)}, distinct(rows, col::kLabel), options));
  if (measure == "sink_rate") {
    figure.note = fmt::format("heads with more than {:g} of their attention on the first token",
                              option_number(sources.front(), "sink_threshold", 0.3));
  }
  add_note(figure, intervals_note(figure, sources));
  return figure;
}

Figure attention_routed_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows =
      attention_rows(sources, options, "routed",
                     "run lime-metrics attention with --sequence N --query Q on a capture with "
                     "routers");
  std::string query_text;
  const auto panel_of = [&](const FigureRows& own) {
    // Keys after the query are ignored.
    const int keys = count_of(own, col::kQuery, kMaxTokens);
    const int query = keys - 1;
    const int layers = num_lines_of(own.back(), col::kShare, kMaxLayers);
    const std::vector<std::string> texts =
        texts_of(sources, own.front(), static_cast<std::size_t>(keys));
    query_text = fmt::format("query: '{}', position {}", texts.back(), query);
    return routed_attention_panel(map_with_zeros(own.back(), col::kShare, layers, keys), query,
                                  texts, options.layer_base);
  };
  Figure figure = head_figure(rows, options, figure_of_routed_attention, panel_of);
  figure.panel_aspect = kRoutedAspect;
  add_note(figure, query_text);
  // Panels are low: in one row they would be too low for a colour bar.
  figure.is_wide = figure.columns >= 2;
  return figure;
}

}  // namespace lime
