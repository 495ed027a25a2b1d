// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/attention_figures.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// Maximum number of legible patterns; beyond, layers are omitted.
constexpr std::size_t kMostPatterns = 64;
constexpr int kWideColumns = 3;
constexpr int kMostKeysInColumn = 24;  // in adjacent panels: more with their texts need a page
constexpr double kRoutedAspect = 0.6;
constexpr int kMostNumbered = 8;

int place_of(const FigureRow& row, const Column& column) {
  return row.index(column, column == col::kLayer ? kMostLayers : kMostHeads);
}

std::set<int> numbers_of(const FigureRows& rows, const Column& column) {
  std::set<int> numbers;
  for (const FigureRow& row : rows) numbers.insert(place_of(row, column));
  return numbers;
}

FigureRows attention_rows(FigureSources sources, const FigureOptions& options,
                          const std::string& kind, const std::string& remedy) {
  FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, kind}});
  if (rows.empty()) {
    throw NothingToShow("figure: the results contain no rows of kind '{}'; {}", kind, remedy);
  }
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
  std::set<int> there;
  for (const HeadPlace& place : places) there.insert(place.layer);
  if (places.size() <= kMostPatterns || !options.layer.empty() || there.size() < 2) return "";
  const std::vector<int> all(there.begin(), there.end());
  const std::size_t per_layer = (places.size() + all.size() - 1) / all.size();
  const std::size_t count = std::clamp<std::size_t>(kMostPatterns / per_layer, 1, all.size());
  std::set<int> kept;
  std::vector<int> named;
  for (std::size_t i = 0; i < count; ++i) {
    const int layer = all[count == 1 ? all.size() - 1 : i * (all.size() - 1) / (count - 1)];
    if (kept.insert(layer).second) named.push_back(layer + options.layer_base);
  }
  std::erase_if(places, [&](const HeadPlace& place) { return !kept.contains(place.layer); });
  return fmt::format("layers {} of {}", fmt::join(named, ", "), all.size());
}

/// Returns the token texts of `label`: from its rows of kind token, else numbers.
std::vector<std::string> texts_of(FigureSources sources, const FigureRow& of,
                                  std::size_t num_tokens) {
  std::vector<std::string> texts(num_tokens);
  for (std::size_t t = 0; t < num_tokens; ++t) texts[t] = std::to_string(t);
  for (const ResultRow& own : sources[of.source].results.rows) {
    const FigureRow row{&own, of.source, of.file};
    if (row.text(col::kKind) != "token" || row.text(col::kLabel) != of.text(col::kLabel)) continue;
    const auto position = static_cast<std::size_t>(row.index(col::kPosition, kMostTokens));
    if (position >= texts.size()) continue;
    texts[position] = row.has(col::kText) ? row.text(col::kText)
                                          : fmt::format("#{:.0f}", row.number(col::kToken));
  }
  return texts;
}

/// Returns true if `columns` panels of `keys` tokens each need a page.
bool needs_page(int columns, int keys) {
  return columns >= kWideColumns || columns * keys > kMostKeysInColumn;
}

std::string title_of(const HeadPlace& place, bool has_labels, int layer_base) {
  return fmt::format("{}layer {}, head {}", has_labels ? place.label + ", " : "",
                     place.layer + layer_base, place.head + layer_base);
}

bool has_several_labels(const FigureRows& rows) { return distinct(rows, col::kLabel).size() > 1; }

void set_columns(Figure& figure, int columns, bool is_wide) {
  figure.columns = columns;
  figure.is_wide = is_wide;
  thin_out_labels(figure);
}

/// A panel per head, and a note on omitted layers.
struct HeadPanels {
  std::vector<FigurePanel> panels;
  int columns = 1;
  std::string left_out;
};

/// @param panel_of  returns the panel of the rows of one head.
HeadPanels head_panels(const FigureRows& rows, const FigureOptions& options,
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
  HeadPanels made;
  made.left_out = thin_out_layers(places, options);
  made.columns = columns_for(places.size(), options.columns);
  for (const HeadPlace& place : places) {
    made.panels.push_back(panel_of(rows_of_head.at(place)));
    made.panels.back().title = title_of(place, has_several_labels(rows), options.layer_base);
  }
  return made;
}

/// Returns `value` by two columns of indices; 0 where there is no row.
MatrixD map_by(const FigureRows& own, const Column& row_column, int rows, const Column& column,
               int columns, const Column& value) {
  MatrixD map = empty_map(own, rows, columns);
  map.setZero();
  for (const FigureRow& row : own) {
    map(row.index(row_column, rows), row.index(column, columns)) = row.number(value);
  }
  return map;
}

FigurePanel measure_panel(const FigureRows& rows, int layer_base) {
  const auto side = [&](const char* label, const Column& column) {
    RowsSide of{{label}, column, layer_base};
    for (const int number : numbers_of(rows, column))
      of.side.numbers.push_back(number + layer_base);
    return of;
  };
  FigurePanel panel =
      map_of_rows(rows, side("head", col::kHead), side("layer", col::kLayer), col::kMean);
  panel.title = rows.front().text(col::kLabel);
  auto& map = std::get<HeatmapPanel>(panel.content);
  map.shows_numbers = std::max(map.values.rows(), map.values.cols()) <= kMostNumbered;
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
  figure.colour_range = std::pair(0.0, 1.0);
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
  HeadPanels made = head_panels(rows, options, [&](const FigureRows& own) {
    const int tokens = count_of(own, col::kQuery, kMostTokens);
    most_keys = std::max(most_keys, tokens);
    return attention_panel(map_by(own, col::kQuery, tokens, col::kKey, tokens, col::kWeight),
                           texts_of(sources, own.front(), static_cast<std::size_t>(tokens)));
  });
  Figure figure = figure_of_attention(std::move(made.panels));
  figure.note = made.left_out;
  set_columns(figure, made.columns, needs_page(made.columns, most_keys));
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

Figure attention_routed_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows =
      attention_rows(sources, options, "routed",
                     "run lime-metrics attention with --sequence N --query Q on a capture with "
                     "routers");
  std::string query_text;
  HeadPanels made = head_panels(rows, options, [&](const FigureRows& own) {
    // Keys after the query are ignored.
    const int keys = count_of(own, col::kQuery, kMostTokens);
    const int query = keys - 1;
    const int layers = count_of(own, col::kSourceLayer, kMostLayers);
    const std::vector<std::string> texts =
        texts_of(sources, own.front(), static_cast<std::size_t>(keys));
    query_text = fmt::format("query: '{}', position {}", texts.back(), query);
    return routed_attention_panel(
        map_by(own, col::kSourceLayer, layers, col::kKey, keys, col::kShare), query, texts,
        options.layer_base);
  });
  Figure figure = figure_of_routed_attention(std::move(made.panels));
  figure.panel_aspect = kRoutedAspect;
  figure.note = made.left_out.empty() ? query_text : query_text + "; " + made.left_out;
  // Panels are low: in one row they would be too low for a colour bar.
  set_columns(figure, made.columns, made.columns >= 2);
  return figure;
}

}  // namespace lime
