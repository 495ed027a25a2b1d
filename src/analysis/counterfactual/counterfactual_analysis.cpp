// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_analysis.h"

#include <set>

#include "analysis/counterfactual/counterfactual_results.h"
#include "analysis/engine/capture_rows.h"
#include "analysis/router/routers.h"
#include "checkpoint/model_config.h"
#include "checkpoint/parse_model_config.h"
#include "core/program/suggest.h"
#include "metrics/probes/folds.h"
#include "metrics/router/layer_router.h"

namespace lime {
namespace {

constexpr const char* kEveryCut = "cut";

struct Shared {
  CounterfactualAnalysisOptions options;  ///< with the seed of the intervals
  std::vector<ChosenCapture> captures;    ///< the routed one, then that of a plain transformer
  ModelConfig config;                     ///< of the routed one
  bool depends_on_token = false;          ///< else the routers are:
  std::vector<LayerRouter> routers;
  HeadScales scales;
  std::vector<Counterfactual> counterfactuals;
};

/// Refuses captures whose rows are not single tokens, or too few for the options.
void check_rows(const CaptureReader& capture, const CounterfactualAnalysisOptions& options) {
  throw_if(capture.info().rows != RowKind::kTokens,
           "{}: contains one row per sequence (--rows {}), but routed values need one per token; "
           "capture again with --rows tokens",
           quoted_path(capture), enum_name(capture.info().rows));
  if (capture.num_rows() == 0) throw InvalidArgument("{}: contains no rows", quoted_path(capture));
  if (has_classes(capture)) {
    const RowTable& rows = capture.rows();
    const std::vector<int> classes(rows.class_id.begin(), rows.class_id.end());
    const std::set<int> distinct(classes.begin(), classes.end());
    throw_if(distinct.size() < 2,
             "{}: contains only one class ({}), but separability needs at least two",
             quoted_path(capture), join_words(capture.info().class_names));
    require_rows_per_class(classes, capture.info().class_names, options.folds);
  }
}

/// Returns the config of the model; nothing for one that only Python knows.
std::optional<ModelConfig> config_of(const CaptureReader& capture) {
  try {
    return parse_model_config(capture.config(), "");
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

bool is_stream(const std::string& site) { return site != "values" && site != "keys"; }

/// Returns the input whose sources a capture has; those of a plain transformer have no weights.
MixedInput input_of(const Shared& shared, std::size_t capture, std::int64_t layer) {
  ModelConfig config = shared.config;
  if (capture > 0) config.routing = DepthRouting::kNone;
  MixedInput input = mixed_input(config, shared.options.site, layer);
  if (capture > 0 || !shared.depends_on_token) input.weights.site.clear();
  return input;
}

void check_layers(const Shared& shared, std::size_t capture) {
  const CaptureReader& reader = shared.captures[capture].reader;
  const std::vector<int>& layers = shared.captures[capture].parts.front().layers;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const MixedInput input = input_of(shared, capture, *layer);
    const std::optional<SiteLayer> lacks = lacking(reader, input);
    if (!lacks) continue;
    throw InvalidArgument(
        "{}: lacks {} of layer {}, but the router of layer {} reads all layers below; capture "
        "again with --sites {} --layers all",
        quoted_path(reader), lacks->site, lacks->layer, *layer, sites_of(input));
  }
}

ModelConfig check_routers(const CaptureReader& capture) {
  const std::optional<ModelConfig> config = config_of(capture);
  const bool is_static = !capture.router_layers().empty();
  if (config && (is_static || !source_site(*config).empty())) return *config;
  if (is_static) return parse_model_config(capture.config(), quoted_path(capture) + ": config");
  throw InvalidArgument(
      "{}: contains no routers to replace{}; give the capture of a LIMe, and that of a plain "
      "transformer with --against",
      quoted_path(capture), config ? fmt::format(", its model is '{}'", config->name()) : "");
}

/// Sets the mixed input, the usual one if the options name none.
void choose_site(Shared& shared, const CaptureReader& capture) {
  const std::vector<std::string> inputs = mixed_inputs(shared.config);
  std::string& site = shared.options.site;
  if (site.empty()) site = inputs.front();
  throw_if(std::ranges::find(inputs, site) == inputs.end(), OptionName("site"),
           "the routers of '{}' mix {}, got '{}'", shared.config.name(), fmt::join(inputs, ", "),
           site);
  const DecoderSpec& spec = shared.config.spec;
  if (!is_stream(site) ||
      (!spec.learned_position_offset && spec.norm_placement != NormPlacement::kAfterSum)) {
    return;
  }
  throw InvalidArgument(
      "{}: the residual stream of '{}' is not a sum of captured outputs (learned positions, or "
      "norms of the stream); counterfactuals need another decoder",
      quoted_path(capture), shared.config.name());
}

void open_both(Shared& shared) {
  const CounterfactualAnalysisOptions& options = shared.options;
  CaptureSetOptions set;
  set.captures = {options.capture};
  if (options.against) set.captures.push_back(*options.against);
  set.label = options.label;
  set.layer = options.layer;
  set.max_sequences = options.max_sequences;
  shared.captures = open_without_parts(set);
  const CaptureReader& routed = shared.captures[0].reader;
  shared.config = check_routers(routed);
  shared.depends_on_token = routed.router_layers().empty();
  choose_site(shared, routed);
  for (std::size_t i = 0; i < shared.captures.size(); ++i) {
    ChosenCapture& capture = shared.captures[i];
    check_rows(capture.reader, options);
    const std::string site = is_stream(options.site) ? "hook_attn_out" : options.site;
    const std::vector<std::string> sites = capture.reader.sites();
    if (std::ranges::find(sites, site) == sites.end()) {
      const MixedInput input = input_of(shared, i, shared.config.num_hidden_layers - 1);
      throw InvalidArgument("{}: unknown site '{}' (its sites: {}); capture again with --sites {}",
                            quoted_path(capture.reader), site, join_words(sites), sites_of(input));
    }
    select_site(capture, site, set);
    capture.parts.front().site = options.site;
    check_layers(shared, i);
    if (!has_classes(capture.reader)) skip_short_sequences(capture, "entropy");
  }
}

/// Returns the factors of the routed capture's weights before their comparison.
HeadScales scales_of(const Shared& shared) {
  const LayerRouter& router = shared.routers.front();
  const std::int64_t layers = std::ssize(shared.routers);
  const CaptureReader& capture = shared.captures.front().reader;
  if (shared.options.bare_weights) {
    return HeadScales::Ones(layers, router.num_heads() * router.num_dims());
  }
  if (router.is_per_dimension()) return dimension_scales_of(capture, shared.options.site, layers);
  return head_scales_of(capture, shared.options.site, routers_of(capture));
}

/// The routers of one layer: all of them for the routed decoder, the identity for the plain one.
LayerRouters routers_of_layer(const Shared& shared, std::size_t capture, std::int64_t layer) {
  const CounterfactualAnalysisOptions& options = shared.options;
  const CounterfactualOptions drawn{.seed = options.summary.seed, .keep_norm = options.keep_norm};
  const MixedInput input = input_of(shared, capture, layer);
  const std::int64_t heads = input.num_heads;
  LayerRouters routers;
  if (capture > 0) {
    routers.layer = layer;
    routers.distinct = {is_stream(options.site) ? LayerRouter(MatrixD::Ones(1, input.width))
                                                : LayerRouter::identity(layer, heads)};
    routers.variants = {{"identity", {0}}};
  } else if (!shared.depends_on_token) {
    routers = LayerRouters::make(shared.routers[static_cast<std::size_t>(layer)], shared.scales,
                                 layer, shared.counterfactuals, drawn, options.draws);
  } else if (layer == 0 && !is_stream(options.site)) {
    // The first layer reads itself.
    routers = LayerRouters::make(LayerRouter::identity(0, heads),
                                 MatrixD::Ones(shared.config.num_hidden_layers, heads), 0,
                                 shared.counterfactuals, drawn, options.draws);
  } else {
    TokenRouter router = token_router(shared.captures[0].reader, input);
    if (options.bare_weights) router.scales.setOnes();
    routers = LayerRouters::make(router, shared.counterfactuals, drawn, options.draws);
  }
  routers.input = input;
  return routers;
}

UnitResult measure_layer(const Shared& shared, std::size_t capture, std::int64_t layer,
                         const UnitContext& context) {
  const CounterfactualLayer measured =
      measure_routed_layer(shared.captures[capture].reader,
                           routers_of_layer(shared, capture, layer), shared.options, context);
  UnitResult result = counterfactual_result(measured.quantities, shared.options.summary,
                                            shared.captures[capture].identity);
  if (measured.deviation && capture == 0) {
    result.rows.front().set(col::kDeviation, *measured.deviation);
  }
  return result;
}

void complete_unit(Unit& unit, const std::shared_ptr<const Shared>& shared, std::size_t capture,
                   int layer) {
  const LayerRouters routers = routers_of_layer(*shared, capture, layer);
  plan_routed_layer(unit, shared->captures[capture].reader, routers, shared->options);
  // Each router has an effective rank, an entropy of every order, and differences of both.
  unit.bytes +=
      summary_bytes(2 * std::ssize(routers.variants) * (1 + std::ssize(shared->options.alpha)),
                    shared->options.summary);
  unit.measure = [shared, capture, layer](const UnitContext& context) {
    return measure_layer(*shared, capture, layer, context);
  };
}

std::vector<std::string> notes_of(const Shared& shared, const Results& results) {
  const CounterfactualAnalysisOptions& options = shared.options;
  const bool classes = has_classes(shared.captures[0].reader);
  std::vector<std::string> notes = {
      fmt::format("{} of {} under counterfactual routers, one layer at a time: earlier layers keep "
                  "their captured values",
                  is_stream(options.site) ? fmt::format("input '{}'", options.site)
                                          : "routed " + options.site,
                  shared.captures[0].label),
      classes
          ? fmt::format("separability: accuracy of a linear probe in {} stratified folds, C {:g}, "
                        "standardised",
                        options.folds, options.c)
          : fmt::format("entropy (nats, alpha {}) and effective rank of each sequence, {}",
                        fmt::join(options.alpha, ", "),
                        needs_standardization(options.preset)
                            ? "dimensions standardised over all routed rows of the capture "
                              "(lime-code)"
                            : "values not standardised (raw)")};
  for (const ChosenCapture& capture : shared.captures) {
    notes.push_back(classes ? fmt::format("{}: {} sequences, {} rows, {}", capture.label,
                                          capture.reader.num_sequences(), capture.reader.num_rows(),
                                          capture.reader.path().string())
                            : describe_sequences(capture));
  }
  // How well the trained router's values agree with those captured.
  std::optional<double> largest;
  for (const ResultRow& row : results.rows) {
    if (!row.has(col::kDeviation)) continue;
    largest = std::max(largest.value_or(0.0), row.number(col::kDeviation));
  }
  if (largest) {
    notes.push_back(
        fmt::format("the trained router reproduces the captured {} to within {:.1e} of the largest",
                    is_stream(options.site) ? "inputs" : "routed values", *largest));
  }
  return notes;
}

}  // namespace

void CounterfactualAnalysisOptions::describe_inputs(OptionList& list) {
  list.add("capture", capture, "capture of a decoder with routers, with values of all layers");
}

void CounterfactualAnalysisOptions::describe(OptionList& list) {
  list.add("against", against,
           "capture of the same text by a plain transformer, to split the gap to it");
  list.add("label", label, "names of the capture and of the one given with --against")
      .takes_several = true;
  list.add("layer", layer, "layers whose routers are replaced: all, or a list, e.g. 0,3,8-15");
  list.add("site", site,
           "mixed input: values or keys, or one from the residual stream: attn, mlp, or q, k, v of "
           "MUDD; default: what the decoder mixes")
      .choices = {"values", "keys", "attn", "mlp", "q", "k", "v"};
  list.group("Routers");
  list.add("router", router,
           "counterfactual routers: trained, identity, last-J, first-J, top-K, unsigned, permuted, "
           "random, cut-L, or cut for every source layer in turn; for weights that depend on the "
           "token also mean and shuffled; default: a selection of these");
  list.add("keep_norm", keep_norm, "rescale each target head to the norm of its trained weights");
  list.add("bare_weights", bare_weights,
           "select and normalise by the weights alone, ignoring the scale of the heads");
  list.add("draws", draws, "draws of each random router, averaged; 1 to 10000");
  list.group("Measurements");
  OptionField& presets = list.add("preset", preset, "entropy preset: lime-code or raw");
  presets.choices = {"lime-code", "raw"};
  presets.type = "lime-code|raw";
  list.add("alpha", alpha, "entropy orders, each > 0; inf is allowed");
  list.add("max_sequences", max_sequences, "use only the first N sequences");
  list.add("folds", folds, "cross-validation folds of the separability probe, >= 2");
  list.add("c", c, "inverse strength of the probe's L2 penalty, > 0");
  list.group("Interval");
  list.add("bootstrap", summary.resamples,
           "bootstrap resamples for the intervals, 100 to 10000000; 0: no intervals");
  list.add("confidence", summary.confidence, "confidence level of the intervals, in (0, 1)");
}

void CounterfactualAnalysisOptions::validate() const {
  check_option(draws >= 1 && draws <= 10000, "draws", "from 1 to 10000", draws);
  throw_if(preset != EntropyPreset::kLimeCode && preset != EntropyPreset::kRaw,
           OptionName("preset"), "must be lime-code or raw for routed values, got {}",
           enum_name(preset));
  if (alpha.empty())
    throw InvalidArgument(OptionName("alpha"), "expected at least one order, got none");
  for (const double order : alpha) check_entropy_order(order);
  require_positive("max_sequences", max_sequences);
  check_option(folds >= 2, "folds", ">= 2", folds);
  check_option(c > 0.0, "c", "> 0", c);
  summary.validate("bootstrap");
  routers(1);
}

std::vector<Counterfactual> CounterfactualAnalysisOptions::routers(std::int64_t num_sources,
                                                                   bool depend_on_token) const {
  static const std::vector<std::string> kDefault = {"identity", "last-1", "last-2", "first-1",
                                                    "first-2",  "top-1",  "top-4",  "unsigned",
                                                    "permuted", "random", "cut-0"};
  std::vector<Counterfactual> result = {{CounterfactualKind::kTrained, 0}};
  const auto add = [&](const Counterfactual& added) {
    if (std::ranges::find(result, added) == result.end()) result.push_back(added);
  };
  if (against) add({CounterfactualKind::kIdentity, 0});
  if (router.empty() && depend_on_token) {
    add({CounterfactualKind::kMean, 0});
    add({CounterfactualKind::kShuffled, 0});
  }
  for (const std::string& name : router.empty() ? kDefault : router) {
    if (name != kEveryCut) {
      add(Counterfactual::parse(name));
      continue;
    }
    for (std::int64_t source = 0; source < num_sources; ++source) {
      add({CounterfactualKind::kCut, source});
    }
  }
  return result;
}

Analysis prepare_counterfactual(const CounterfactualAnalysisOptions& options,
                                const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  open_both(*shared);
  const CaptureReader& routed = shared->captures[0].reader;
  if (options.against) {
    const CaptureReader& plain = shared->captures[1].reader;
    check_same_tokens(routed, plain,
                      "the gap compares the same tokens in two models; capture both with the same "
                      "text and tokenizer");
    throw_if(routed.rows().class_id != plain.rows().class_id,
             "{} and {}: contain different classes; capture both with the same --only",
             quoted_path(routed), quoted_path(plain));
    const std::optional<ModelConfig> config = config_of(plain);
    throw_if(
        !plain.router_layers().empty() || (config && !source_site(*config).empty()),
        "{}: --against expects the capture of a plain transformer, but this one contains routers",
        quoted_path(plain));
  }
  const bool is_static = !shared->depends_on_token;
  if (is_static) {
    shared->routers = layer_routers_of(routed);
    shared->scales = scales_of(*shared);
  }
  const std::int64_t sources =
      std::ssize(input_of(*shared, 0, shared->config.num_hidden_layers - 1).sources);
  shared->counterfactuals = options.routers(sources, !is_static);
  // Refuses sources that are not there before any work is done.
  for (const Counterfactual& counterfactual : shared->counterfactuals) {
    if (counterfactual.kind != CounterfactualKind::kCut || counterfactual.number < sources)
      continue;
    throw InvalidArgument(OptionName("router"), "{} must name a {} from 0 to {}",
                          counterfactual.name(),
                          is_stream(shared->options.site) ? "source" : "layer", sources - 1);
  }

  Analysis analysis = analysis_of("counterfactual", options, shared->captures);
  analysis.threads = UnitThreads::kInside;
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    complete_unit(unit, shared, place.capture, place.layer);
  });
  CounterfactualComparison comparison{.label = shared->captures[0].label,
                                      .against = options.against ? shared->captures[1].label : "",
                                      .site = shared->options.site,
                                      .keys = {},
                                      .summary = shared->options.summary};
  for (const Unit& unit : analysis.units) comparison.keys.push_back(unit.key);
  analysis.more_rows = [comparison](std::span<const UnitResult> units) {
    return counterfactual_more_rows(comparison, units);
  };
  analysis.present = [shared, comparison](Report& report, auto) {
    fill_counterfactual_report(report, comparison, notes_of(*shared, report.results));
  };
  return analysis;
}

}  // namespace lime
