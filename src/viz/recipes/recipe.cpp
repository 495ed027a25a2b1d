// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/recipe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/errors.h"
#include "core/suggest.h"
#include "viz/recipes/recipes.h"

namespace lime {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

std::string names_of_fitting(const std::string& metric) {
  std::vector<std::string> names;
  for (const Recipe* const recipe : recipes_of(metric)) names.push_back(recipe->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string known_metrics() {
  std::set<std::string> metrics;
  for (const Recipe& recipe : all_recipes()) {
    metrics.insert(recipe.metrics.begin(), recipe.metrics.end());
  }
  return fmt::format("{}", fmt::join(metrics, ", "));
}

/// Models of different texts are no comparison.
void check_texts(std::span<const FigureSource> sources) {
  const ResultsInput* first = nullptr;
  for (const FigureSource& source : sources) {
    for (const ResultsInput& input : source.results.inputs) {
      if (input.text_sha256.empty()) continue;
      if (first == nullptr) first = &input;
      if (input.text_sha256 == first->text_sha256) continue;
      throw InvalidArgument(
          "figure: all results must be of one text, '{}' ({}) and '{}' ({}) are of different "
          "ones; draw them apart, or give --mixed-texts",
          first->path, first->label, input.path, input.label);
    }
  }
}

void check_sources(std::span<const FigureSource> sources, const FigureOptions& options) {
  if (sources.empty()) throw InvalidArgument("figure: needs a results file, got none");
  for (const FigureSource& source : sources) {
    if (source.results.metric != sources.front().results.metric) {
      throw InvalidArgument("figure: results must be of one metric, got {} in '{}' and {} in '{}'",
                            sources.front().results.metric, sources.front().path.string(),
                            source.results.metric, source.path.string());
    }
    if (source.results.rows.empty()) {
      throw InvalidArgument("figure: '{}' holds no rows", source.path.string());
    }
  }
  if (!options.mixed_texts) check_texts(sources);
}

void check_kind(const std::string& kind) {
  std::vector<std::string> names;
  for (const Recipe& recipe : all_recipes()) names.push_back(recipe.name);
  if (std::find(names.begin(), names.end(), kind) != names.end()) return;
  const std::string close = closest_word(kind, names);
  throw InvalidArgument(
      "kind: there is no figure '{}'; {}", kind,
      close.empty() ? "there are " + join_words(names) : fmt::format("did you mean '{}'?", close));
}

/// What every figure has.
constexpr std::array kCommonOptions = {"kind",     "site",  "label", "layer_base", "x_limits",
                                       "y_limits", "log_x", "log_y", "columns",    "mixed_texts"};

bool reads(const Recipe& recipe, const std::string& option) {
  return std::find(kCommonOptions.begin(), kCommonOptions.end(), option) != kCommonOptions.end() ||
         std::find(recipe.options.begin(), recipe.options.end(), option) != recipe.options.end();
}

/// "--layer-base" for "layer_base".
std::string flag(std::string option) {
  std::replace(option.begin(), option.end(), '_', '-');
  return "--" + option;
}

void check_options(const Recipe& recipe, const FigureOptions& options) {
  std::vector<std::string> unread = options_unread_by(recipe, options);
  if (unread.empty()) return;
  for (std::string& option : unread) option = flag(option);
  std::vector<std::string> there;
  for (const std::string& option : recipe.options) there.push_back(flag(option));
  for (const char* const option : kCommonOptions) there.push_back(flag(option));
  throw InvalidArgument("figure: {} has no {}; it has {}", recipe.name, fmt::join(unread, ", "),
                        fmt::join(there, ", "));
}

/// The recipe called `kind`, or all that show the metric.
std::vector<const Recipe*> recipes_for(const FigureSource& source, const std::string& kind) {
  const std::string& metric = source.results.metric;
  const std::vector<const Recipe*> fitting = recipes_of(metric);
  if (fitting.empty()) {
    throw InvalidArgument(
        "figure: '{}' is of metric '{}', of which there is no figure; there are figures of {}",
        source.path.string(), metric, known_metrics());
  }
  if (kind.empty()) return fitting;
  check_kind(kind);
  for (const Recipe* const recipe : fitting) {
    if (recipe->name == kind) return {recipe};
  }
  throw InvalidArgument("kind: '{}' does not show results of {}; fitting: {}", kind, metric,
                        names_of_fitting(metric));
}

/// The figure of the first recipe that has something to show; what the first lacks where none has.
Figure first_figure(const std::vector<const Recipe*>& recipes,
                    std::span<const FigureSource> sources, const FigureOptions& options) {
  std::optional<NothingToShow> first;
  if (recipes.size() == 1) check_options(*recipes.front(), options);
  for (const Recipe* const recipe : recipes) {
    try {
      Figure figure = recipe->make(sources, options);
      if (figure.panels.empty()) {
        throw NothingToShow("figure: '{}': no row has all that {} shows, with a label",
                            sources.front().path.string(), recipe->name);
      }
      check_options(*recipe, options);
      figure.name = recipe->name;
      return figure;
    } catch (const NothingToShow& nothing) {
      if (!first) first = nothing;
    }
  }
  throw NothingToShow(*first);
}

/// A value as the file has it, cut where it is long.
std::string shown_value(const Json& value) {
  return fmt::format("{:.40}", value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void limit(FigureAxis& axis, const std::vector<double>& limits) {
  if (limits.empty()) return;
  axis.min = limits[0];
  axis.max = limits[1];
}

/// Makes what `options` ask for logarithmic; says where that leaves points out.
void make_logarithmic(Figure& figure, const FigureOptions& options) {
  bool leaves_out = false;
  const auto see = [&](const FigurePanel& panel, const FigureAxis& axis, const char* name,
                       const std::vector<double>& values) {
    if (!axis.logarithmic || values.empty()) return;
    const auto is_fit = [](double value) { return value > 0.0; };
    if (std::none_of(values.begin(), values.end(), is_fit)) {
      throw InvalidArgument("{}: needs values > 0, panel '{}{}' has none", name, panel.title,
                            axis.label);
    }
    leaves_out = leaves_out || std::any_of(values.begin(), values.end(),
                                           [](double value) { return value <= 0.0; });
  };
  for (FigurePanel& panel : figure.panels) {
    const auto* const curves = std::get_if<CurvePanel>(&panel.content);
    if (curves == nullptr) {
      if (!options.log_x && !options.log_y) continue;
      throw InvalidArgument("log_{}: only figures of curves have logarithmic axes",
                            options.log_x ? "x" : "y");
    }
    panel.x.logarithmic = panel.x.logarithmic || options.log_x;
    panel.y.logarithmic = panel.y.logarithmic || options.log_y;
    for (const Curve& curve : curves->curves) {
      see(panel, panel.x, "log_x", curve.x);
      see(panel, panel.y, "log_y", curve.y);
    }
  }
  if (!leaves_out) return;
  figure.note += figure.note.empty() ? "" : "; ";
  figure.note += "values that are not above 0 are left out";
}

void check_there(const char* option, const std::vector<std::string>& wanted,
                 const std::vector<std::string>& there) {
  for (const std::string& one : wanted) {
    if (std::find(there.begin(), there.end(), one) != there.end()) continue;
    throw InvalidArgument("{0}: the results have no {0} '{1}'; there are {2}", option, one,
                          join_words(there));
  }
}

void check_limits(const std::vector<double>& limits, const char* name) {
  if (limits.empty() || (limits.size() == 2 && limits[0] < limits[1])) return;
  throw InvalidArgument("{}: must be two numbers, the smaller first, got {}", name,
                        fmt::join(limits, ","));
}

}  // namespace

void FigureOptions::describe(OptionList& list) {
  list.group("What to show");
  list.add("kind", kind, "figure; the usual one of the metric if not given (see --list)");
  list.add("site", site, "sites, e.g. values,hidden; all if not given");
  list.add("label", label, "models; all if not given");
  list.add("layer", layer, "layers of figures that have a panel per layer, from --layer-base on");
  list.add("head", head, "heads of attention; all if not given");
  list.add("measure", measure,
           "measures or quantities, of geometry, similarity, tokens, attention and comparison");
  list.add("router", router, "routers of counterfactual, e.g. trained,identity; all if not given");
  list.add("weighting", weighting, "of router maps: none, keys, values, or 'keys - none'");
  list.add("by", by, "what BLiMP is broken down by");
  list.add("over", over, "what loss curves run over");
  list.add("layer_base", layer_base, "number of the first layer on axes and in --layer, 0 or 1");
  list.add("x_limits", x_limits, "smallest and largest x");
  list.add("y_limits", y_limits, "smallest and largest y");
  list.add("log_x", log_x, "logarithmic x axis");
  list.add("log_y", log_y, "logarithmic y axis");
  list.add("columns", columns, "panels side by side; 0 chooses");
  list.add("mixed_texts", mixed_texts, "draw results of different texts in one figure");
}

void FigureOptions::validate() const {
  if (layer_base != 0 && layer_base != 1) {
    throw InvalidArgument("layer_base: must be 0 or 1, got {}", layer_base);
  }
  if (columns < 0) throw InvalidArgument("columns: must be >= 0, got {}", columns);
  check_limits(x_limits, "x_limits");
  check_limits(y_limits, "y_limits");
}

std::vector<const Recipe*> recipes_of(std::string_view metric) {
  std::vector<const Recipe*> fitting;
  for (const Recipe& recipe : all_recipes()) {
    const auto& metrics = recipe.metrics;
    if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) {
      fitting.push_back(&recipe);
    }
  }
  return fitting;
}

FigureOptions options_read_by(const Recipe& recipe, const FigureOptions& options) {
  const FigureOptions defaults;
  FigureOptions read = options;
  if (!reads(recipe, "layer")) read.layer = defaults.layer;
  if (!reads(recipe, "head")) read.head = defaults.head;
  if (!reads(recipe, "measure")) read.measure = defaults.measure;
  if (!reads(recipe, "router")) read.router = defaults.router;
  if (!reads(recipe, "weighting")) read.weighting = defaults.weighting;
  if (!reads(recipe, "by")) read.by = defaults.by;
  if (!reads(recipe, "over")) read.over = defaults.over;
  return read;
}

std::vector<std::string> options_unread_by(const Recipe& recipe, const FigureOptions& options) {
  const Json values = options_to_json(options);
  const Json defaults = options_to_json(FigureOptions{});
  std::vector<std::string> unread;
  for (const auto& [name, value] : values.items()) {
    if (value != defaults.at(name) && !reads(recipe, name)) unread.push_back(name);
  }
  return unread;
}

Figure make_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  options.validate();
  check_sources(sources, options);
  Figure figure = first_figure(recipes_for(sources.front(), options.kind), sources, options);
  for (FigurePanel& panel : figure.panels) {
    const bool has_limits = !options.x_limits.empty() || !options.y_limits.empty();
    if (has_limits && std::holds_alternative<TablePanel>(panel.content)) {
      throw InvalidArgument("{}_limits: {} is a table and has no axes",
                            options.x_limits.empty() ? "y" : "x", figure.name);
    }
    limit(panel.x, options.x_limits);
    limit(panel.y, options.y_limits);
  }
  make_logarithmic(figure, options);
  figure.keeps_columns = options.columns > 0;
  return figure;
}

std::string FigureRow::text(const std::string& key) const {
  const auto entry = row->find(key);
  return entry != row->end() && entry->is_string() ? entry->get<std::string>() : "";
}

bool FigureRow::has(const std::string& key) const {
  const auto entry = row->find(key);
  return entry != row->end() && !entry->is_null();
}

double FigureRow::number(const std::string& key) const {
  if (!has(key)) return std::numeric_limits<double>::quiet_NaN();
  try {
    return results_number(*row, key);
  } catch (const FormatError&) {
    throw FormatError("figure: '{}': '{}' must be a number, got {}", file->string(), key,
                      shown_value(row->at(key)));
  }
}

bool FigureRow::has_index(const std::string& key, int limit) const {
  const auto entry = row->find(key);
  if (entry == row->end() || !entry->is_number()) return false;
  const auto value = entry->get<double>();
  return value >= 0.0 && value < limit && value == std::floor(value);
}

int FigureRow::index(const std::string& key, int limit) const {
  if (has_index(key, limit)) return static_cast<int>(row->at(key).get<double>());
  throw FormatError("figure: '{}': '{}' must be a whole number from 0 to {}, got {}",
                    file->string(), key, limit - 1,
                    row->contains(key) ? shown_value(row->at(key)) : "none");
}

MatrixD empty_map(const std::vector<FigureRow>& own, int rows, int cols) {
  // A triangle of layers or tokens fills half of its map; one line of a large map, a little of it.
  constexpr std::size_t kMostCellsPerRow = 512;
  if (static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) >
      kMostCellsPerRow * own.size()) {
    throw FormatError(
        "figure: '{}': a map of {} x {} cells has more than {} rows; the results are "
        "damaged",
        own.empty() ? "" : own.front().file->string(), rows, cols, own.size());
  }
  return MatrixD::Constant(rows, cols, std::numeric_limits<double>::quiet_NaN());
}

int count_of(const std::vector<FigureRow>& rows, const std::string& key, int limit) {
  int largest = 0;
  for (const FigureRow& row : rows) largest = std::max(largest, row.index(key, limit));
  return largest + 1;
}

std::vector<FigureRow> rows_of(std::span<const FigureSource> sources,
                               const FigureOptions& options) {
  std::vector<FigureRow> all;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    for (const Json& row : sources[s].results.rows) {
      all.push_back({&row, s, &sources[s].path});
    }
  }
  check_there("site", options.site, distinct(all, "site"));
  check_there("label", options.label, distinct(all, "label"));
  std::vector<FigureRow> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const FigureRow& row) {
    return contains(options.site, row.text("site")) && contains(options.label, row.text("label"));
  });
  if (chosen.empty()) {
    throw InvalidArgument("figure: no row has both site {} and label {}",
                          fmt::join(options.site, ","), fmt::join(options.label, ","));
  }
  return chosen;
}

std::string with_commas(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::vector<FigureRow> rows_where(const std::vector<FigureRow>& rows,
                                  const std::function<bool(const FigureRow&)>& keep) {
  std::vector<FigureRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), keep);
  return kept;
}

std::vector<std::string> distinct(const std::vector<FigureRow>& rows, const std::string& key) {
  std::vector<std::string> texts;
  for (const FigureRow& row : rows) {
    const std::string text = row.text(key);
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) {
      texts.push_back(text);
    }
  }
  return texts;
}

std::vector<int> layers_asked_for(const FigureOptions& options, const std::set<int>& there) {
  std::vector<int> shown;
  for (const int layer : there) shown.push_back(layer + options.layer_base);
  std::vector<int> asked;
  for (const int layer : options.layer) {
    if (std::find(shown.begin(), shown.end(), layer) == shown.end()) {
      throw InvalidArgument("layer: the results have no layer {}; there are layers {}", layer,
                            fmt::join(shown, ", "));
    }
    asked.push_back(layer - options.layer_base);
  }
  return asked;
}

std::vector<FigureRow> rows_of_layers(const std::vector<FigureRow>& rows,
                                      const FigureOptions& options) {
  if (options.layer.empty()) return rows;
  std::set<int> there;
  for (const FigureRow& row : rows) there.insert(row.index("layer", kMostLayers));
  const std::vector<int> asked = layers_asked_for(options, there);
  return rows_where(rows, [&](const FigureRow& row) {
    return std::find(asked.begin(), asked.end(), row.index("layer", kMostLayers)) != asked.end();
  });
}

std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual) {
  if (options.measure.size() > 1) {
    throw InvalidArgument("measure: {} shows one of them, got {}", kind,
                          fmt::join(options.measure, ","));
  }
  return options.measure.empty() ? usual : options.measure.front();
}

int columns_for(std::size_t panels, int wanted) {
  if (wanted > 0) return wanted;
  if (panels <= 3) return static_cast<int>(panels);
  return panels == 4 ? 2 : static_cast<int>(std::ceil(std::sqrt(static_cast<double>(panels))));
}

}  // namespace lime
