// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/recipe.h"

#include <set>

#include "core/program/command_help.h"
#include "core/program/suggest.h"
#include "viz/recipes/accuracy_figures.h"
#include "viz/recipes/attention_figures.h"
#include "viz/recipes/audit_figure.h"
#include "viz/recipes/collapse_figure.h"
#include "viz/recipes/cost_figure.h"
#include "viz/recipes/counterfactual_figures.h"
#include "viz/recipes/effect_figure.h"
#include "viz/recipes/embedding_figure.h"
#include "viz/recipes/expert_figures.h"
#include "viz/recipes/figure_row.h"
#include "viz/recipes/heatmap_figures.h"
#include "viz/recipes/influence_figure.h"
#include "viz/recipes/layer_figures.h"
#include "viz/recipes/model_colours.h"
#include "viz/recipes/repeated_labels.h"
#include "viz/recipes/router_figures.h"
#include "viz/recipes/stream_figures.h"
#include "viz/recipes/training_figures.h"

namespace lime {
namespace {

void check_limits(const std::vector<double>& limits, const char* name) {
  if (limits.empty() || (limits.size() == 2 && limits[0] < limits[1])) return;
  throw InvalidArgument(OptionName(name), "expected two numbers, the smaller one first, got {}",
                        fmt::join(limits, ","));
}

void limit(FigureAxis& axis, const std::vector<double>& limits) {
  if (limits.empty()) return;
  axis.min = limits[0];
  axis.max = limits[1];
}

void make_logarithmic(Figure& figure, const FigureOptions& options) {
  bool leaves_out = false;
  const auto see = [&](const FigurePanel& panel, const FigureAxis& axis, const char* name,
                       const std::vector<double>& values) {
    if (!axis.logarithmic || values.empty()) return;
    const auto is_fit = [](double value) { return value > 0.0; };
    throw_if(std::ranges::none_of(values, is_fit), OptionName(name),
             "needs values > 0, but panel '{}{}' has none", panel.title, axis.label);
    leaves_out =
        leaves_out || std::ranges::any_of(values, [](double value) { return value <= 0.0; });
  };
  for (FigurePanel& panel : figure.panels) {
    const auto* const curves = std::get_if<CurvePanel>(&panel.content);
    if (curves == nullptr) {
      if (!options.log_x && !options.log_y) continue;
      throw InvalidArgument("log_{}: only line plots support logarithmic axes",
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
  figure.note += "values <= 0 are omitted";
}

std::string names_of_fitting(const std::string& metric) {
  std::vector<std::string> names;
  for (const Recipe* const recipe : recipes_of(metric)) names.push_back(recipe->name);
  return join_words(names);
}

std::string known_metrics() {
  std::set<std::string> metrics;
  for (const Recipe& recipe : all_recipes()) {
    metrics.insert(recipe.metrics.begin(), recipe.metrics.end());
  }
  return fmt::format("{}", fmt::join(metrics, ", "));
}

void check_texts(FigureSources sources) {
  const ResultsInput* first = nullptr;
  for (const FigureSource& source : sources) {
    for (const ResultsInput& input : source.results.inputs) {
      if (input.text_sha256.empty()) continue;
      if (first == nullptr) first = &input;
      if (input.text_sha256 == first->text_sha256) continue;
      throw InvalidArgument(
          "figure: all results must be from the same text, '{}' ({}) and '{}' ({}) differ; draw "
          "them separately, or add --mixed-texts",
          first->path, first->label, input.path, input.label);
    }
  }
}

void check_sources(FigureSources sources, const FigureOptions& options) {
  if (sources.empty()) throw InvalidArgument("figure: expected a results file, got none");
  for (const FigureSource& source : sources) {
    throw_if(source.results.metric != sources.front().results.metric,
             "figure: all results must be of the same metric, got {} in '{}' and {} in '{}'",
             sources.front().results.metric, sources.front().path.string(), source.results.metric,
             source.path.string());
    throw_if(source.results.rows.empty(), "figure: '{}' contains no rows", source.path.string());
  }
  if (!options.mixed_texts) check_texts(sources);
}

void check_kind(const std::string& kind) {
  std::vector<std::string> names;
  for (const Recipe& recipe : all_recipes()) names.push_back(recipe.name);
  if (contains(names, kind)) return;
  const std::string close = closest_word(kind, names);
  throw InvalidArgument(OptionName("kind"), "unknown figure '{}'; {}", kind,
                        close.empty() ? "expected one of " + join_words(names)
                                      : fmt::format("did you mean '{}'?", close));
}

constexpr std::array kCommonOptions = {"kind",     "site",        "label", "layer_base",
                                       "x_limits", "y_limits",    "log_x", "log_y",
                                       "columns",  "mixed_texts", "colors"};

bool reads(const Recipe& recipe, const std::string& option) {
  return contains(kCommonOptions, option) || contains(recipe.options, option);
}

void check_options(const Recipe& recipe, const FigureOptions& options) {
  std::vector<std::string> unread = options_unread_by(recipe, options);
  if (unread.empty()) return;
  for (std::string& option : unread) option = option_name(option);
  std::vector<std::string> available;
  for (const std::string& option : recipe.options) available.push_back(option_name(option));
  for (const char* const option : kCommonOptions) available.push_back(option_name(option));
  throw InvalidArgument("figure: {} does not accept {} (supported: {})", recipe.name,
                        fmt::join(unread, ", "), fmt::join(available, ", "));
}

/// Returns the recipe called `kind`, or all for the metric.
std::vector<const Recipe*> recipes_for(const FigureSource& source, const std::string& kind) {
  const std::string& metric = source.results.metric;
  const std::vector<const Recipe*> fitting = recipes_of(metric);
  throw_if(fitting.empty(), "figure: '{}': no figure shows metric '{}' (supported: {})",
           source.path.string(), metric, known_metrics());
  if (kind.empty()) return fitting;
  check_kind(kind);
  for (const Recipe* const recipe : fitting) {
    if (recipe->name == kind) return {recipe};
  }
  throw InvalidArgument(OptionName("kind"), "'{}' does not show results of {} (supported: {})",
                        kind, metric, names_of_fitting(metric));
}

/// Returns the figure of the first recipe with data to show; else throws the error of the first.
Figure first_figure(const std::vector<const Recipe*>& recipes, FigureSources sources,
                    const FigureOptions& options) {
  std::optional<NothingToShow> first;
  if (recipes.size() == 1) check_options(*recipes.front(), options);
  for (const Recipe* const recipe : recipes) {
    try {
      Figure figure = recipe->make(sources, options);
      throw_if<NothingToShow>(figure.panels.empty(),
                              "figure: '{}': no row has a label and all values that {} shows",
                              sources.front().path.string(), recipe->name);
      check_options(*recipe, options);
      figure.name = recipe->name;
      return figure;
    } catch (const NothingToShow& nothing) {
      if (!first) first = nothing;
    }
  }
  throw NothingToShow(*first);
}

}  // namespace

void FigureOptions::describe(OptionList& list) {
  list.group("Content");
  list.add("kind", kind, "figure type (see --list); default: the first one of the metric");
  list.add("site", site, "sites, e.g. values,hidden; default: all");
  list.add("label", label, "models; default: all");
  list.add("layer", layer, "layers of figures with a panel per layer, counted from --layer-base");
  list.add("head", head, "attention heads, counted from --layer-base; default: all");
  list.add(
      "measure", measure,
      "measures of geometry, lens, similarity, tokens, attention, counterfactual and comparison "
      "figures");
  list.add("router", router, "counterfactual routers, e.g. trained,identity; default: all");
  list.add("weighting", weighting,
           "weighting of router maps: none, keys, values, or 'keys - none'");
  list.add("by", by, "grouping of BLiMP tasks");
  list.add("over", over, "x axis of loss curves");
  list.add("layer_base", layer_base,
           "index of the first layer and head on axes, in --layer and in --head, 0 or 1");
  list.add("x_limits", x_limits, "limits of the x axis");
  list.add("y_limits", y_limits, "limits of the y axis");
  list.add("log_x", log_x, "logarithmic x axis");
  list.add("log_y", log_y, "logarithmic y axis");
  list.add(
      "colors", colors,
      "colours of the models in the order of the legend, numbers from 1 to 7, e.g. 3,1; models "
      "of one colour differ in their dashes");
  list.add("columns", columns, "number of panel columns, up to 100; 0: automatic");
  list.add("mixed_texts", mixed_texts, "allow results of different texts in one figure");
}

void FigureOptions::validate() const {
  throw_if(layer_base != 0 && layer_base != 1, OptionName("layer_base"), "must be 0 or 1, got {}",
           layer_base);
  constexpr int kMaxColumns = 100;
  throw_if(columns < 0 || columns > kMaxColumns, OptionName("columns"),
           "must be from 0 to {}, got {}", kMaxColumns, columns);
  for (const int colour : colors) {
    throw_if(colour < 1 || colour > kMaxColours, OptionName("colors"),
             "must be from 1 to {}, got {}", kMaxColours, colour);
  }
  check_limits(x_limits, "x_limits");
  check_limits(y_limits, "y_limits");
}

std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual, const std::vector<std::string>& known) {
  throw_if(options.measure.size() > 1, OptionName("measure"), "{} shows a single measure, got {}",
           kind, fmt::join(options.measure, ","));
  const std::string measure = options.measure.empty() ? usual : options.measure.front();
  if (known.empty() || std::ranges::find(known, measure) != known.end()) return measure;
  throw InvalidArgument(OptionName("measure"), "{} does not show '{}' (supported: {})", kind,
                        measure, fmt::join(known, ", "));
}

void apply_axis_options(Figure& figure, const FigureOptions& options) {
  for (FigurePanel& panel : figure.panels) {
    const bool has_limits = !options.x_limits.empty() || !options.y_limits.empty();
    throw_if(has_limits && std::holds_alternative<TablePanel>(panel.content),
             OptionName(options.x_limits.empty() ? "y_limits" : "x_limits"),
             "{} is a table and has no axes", figure.name);
    limit(panel.x, options.x_limits);
    limit(panel.y, options.y_limits);
  }
  make_logarithmic(figure, options);
}

std::vector<const Recipe*> recipes_of(std::string_view metric) {
  std::vector<const Recipe*> fitting;
  for (const Recipe& recipe : all_recipes()) {
    if (contains(recipe.metrics, metric)) fitting.push_back(&recipe);
  }
  return fitting;
}

FigureOptions options_read_by(const Recipe& recipe, const FigureOptions& options) {
  FigureOptions given = options;
  FigureOptions read;
  const std::vector<OptionField> from = option_fields(given);
  const std::vector<OptionField> to = option_fields(read);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Json value = from[i].value();
    // Options without a value have none by default.
    if (reads(recipe, to[i].name) && !value.is_null()) to[i].assign(option_texts(value));
  }
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

Figure make_figure(FigureSources sources, const FigureOptions& options) {
  options.validate();
  check_sources(sources, options);
  const std::optional<std::vector<FigureSource>> renamed = with_distinct_labels(sources);
  if (renamed) sources = *renamed;
  Figure figure = first_figure(recipes_for(sources.front(), options.kind), sources, options);
  apply_axis_options(figure, options);
  if (!options.colors.empty()) recolour(figure, options.colors);
  figure.keeps_columns = options.columns > 0;
  return figure;
}

const std::vector<Recipe>& all_recipes() {
  using Names = std::vector<std::string>;
  const auto recipe = [](auto name, Names metrics, auto help, auto make, Names options = {}) {
    return Recipe{name, std::move(metrics), help, std::move(options), make};
  };
  static const std::vector<Recipe> recipes = {
      recipe("entropy", {"entropy"}, "entropy over layers with 95% intervals and ceiling",
             entropy_figure),
      recipe("separability", {"separability"},
             "probe accuracy over layers, with error bars, controls and the majority baseline",
             separability_figure),
      recipe("embeddings", {"tsne"}, "t-SNE embeddings, a panel per layer", embedding_figure,
             {"layer"}),
      recipe("collapse", {"collapse"}, "causes of a collapse over layers, and what remains",
             collapse_figure),
      recipe("geometry", {"geometry"}, "ranks, anisotropy, curvature and dimension over layers",
             geometry_figure, {"measure"}),
      recipe("lens", {"lens"},
             "logit lens: KL divergence of each layer's distribution from the final one, "
             "loss and rank",
             geometry_figure, {"measure"}),
      recipe("similarity", {"similarity"},
             "similarity or distance between layers: CKA, Procrustes, influence, angle, neighbours",
             similarity_figure, {"measure"}),
      recipe("influence", {"similarity"},
             "block influence over layers: how much each block changes the residual stream",
             influence_figure, {"measure"}),
      recipe("router-mean", {"router"},
             "fraction of each buffered layer in each layer's keys and values", router_mean_figure,
             {"weighting"}),
      recipe("router-heads", {"router"}, "the same per head, a panel per layer",
             router_heads_figure, {"layer", "weighting"}),
      recipe("router-signed", {"router"}, "signed router weights", router_signed_figure, {"layer"}),
      recipe("router-sources", {"router"},
             "weights with which attention and MLP of each layer read earlier outputs",
             router_sources_figure, {"weighting"}),
      recipe("experts", {"experts"},
             "load of the experts of each layer, on the layers of the router maps", experts_figure),
      recipe("experts-layers", {"experts"},
             "balance, entropy, overlap and information of experts over layers", geometry_figure,
             {"measure"}),
      recipe("experts-groups", {"experts"},
             "load of the experts in each domain or class, a panel per layer", expert_groups_figure,
             {"layer"}),
      recipe("experts-coactivation", {"experts"},
             "experts that are selected together, a panel per layer", expert_pairs_figure,
             {"layer"}),
      recipe("experts-tokens", {"experts"},
             "expert with the largest weight of each token of a sequence, per layer",
             expert_tokens_figure, {"layer"}),
      recipe("streams", {"streams"}, "energy of the residual streams of each layer",
             streams_figure),
      recipe("streams-layers", {"streams"},
             "effective number, dominance and mixing of streams over layers", streams_layers_figure,
             {"measure"}),
      recipe("streams-mixing", {"streams"}, "mean mixing matrix, a panel per layer and part",
             streams_mixing_figure, {"layer"}),
      recipe("counterfactual", {"counterfactual"},
             "routed values under each router over layers: entropy, rank, separability",
             counterfactual_figure, {"measure", "router"}),
      recipe("counterfactual-change", {"counterfactual"},
             "difference of each router from the trained one, with paired intervals",
             counterfactual_change_figure, {"measure", "router"}),
      recipe("counterfactual-gap", {"counterfactual"},
             "gap to the plain transformer, split into projections and mixing",
             counterfactual_gap_figure, {"measure"}),
      recipe("blimp", {"blimp"},
             "accuracy on minimal pairs: probes over layers, or zero-shot as bars", blimp_figure,
             {"by"}),
      recipe("blimp-table", {"blimp"}, "the same as a table by phenomenon", blimp_table,
             {"layer", "by"}),
      recipe("choices", {"choices"},
             "accuracy on benchmarks as bars, and paired differences with --compare",
             choices_figure, {"measure"}),
      recipe("choices-layers", {"choices"},
             "accuracy of the logit lens and of probes on benchmarks, over layers",
             choices_layers_figure),
      recipe("tokens", {"tokens"},
             "norm, cosine or entropy contribution of each token of a sequence per layer",
             tokens_figure, {"layer", "measure"}),
      recipe("attention", {"attention"},
             "attention patterns of one sequence, a panel per layer and head", attention_figure,
             {"layer", "head"}),
      recipe("attention-heads", {"attention"},
             "attention of the heads of each layer: entropy, distance, or fraction on a token",
             attention_heads_figure, {"layer", "head", "measure"}),
      recipe("attention-layers", {"attention"},
             "attention of each layer, mean over heads: sink rate, entropy, distance",
             attention_layers_figure, {"layer", "measure"}),
      recipe("attention-routed", {"attention"},
             "buffered layers that one query reads from each key through the routers",
             attention_routed_figure, {"layer", "head"}),
      recipe("sweep", {"sweep"},
             "effect of interventions on the loss: heatmaps of heads, routes, positions, experts "
             "and streams, curves of layers",
             sweep_figure, {"measure"}),
      recipe("sweep-later", {"sweep"},
             "how much removing each layer changes what every later layer writes", later_figure),
      recipe("mass-effect", {"router", "experts", "streams"},
             "effect of removing each source, expert or stream over the mass that it receives",
             mass_effect_figure),
      recipe("audit", {"audit"},
             "measures that change with the coordinates of the weights, or with the text, as "
             "heatmaps per site",
             audit_figure),
      recipe("series", {"series"}, "measurements over training steps, a curve per layer",
             series_figure, {"layer", "measure"}),
      recipe("loss", {"training"}, "loss over steps, tokens or FLOPs", loss_figure, {"over"}),
      recipe("operands", {"training"}, "accuracy of arithmetic models over the number of operands",
             operands_figure),
      recipe("cost", {"cost"}, "the efficiency table: parameters, operations, cache", cost_table),
      recipe("comparison", {"entropy", "separability", "geometry", "blimp"},
             "differences between models over layers, with stars where significant",
             comparison_figure, {"measure"}),
  };
  return recipes;
}

}  // namespace lime
