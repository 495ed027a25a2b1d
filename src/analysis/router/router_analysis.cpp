// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/router_analysis.h"

#include <iterator>
#include <map>

#include "analysis/effects/effects.h"
#include "analysis/engine/capture_rows.h"
#include "analysis/router/router_report.h"
#include "analysis/router/routers.h"
#include "analysis/router/source_maps.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "core/files/sha256.h"
#include "metrics/router/cancellation_index.h"
#include "metrics/router/head_scales.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/router_maps.h"
#include "metrics/router/router_summary.h"
#include "metrics/router/value_buffer.h"
#include "store/results/difference_name.h"
#include "store/results/matrix_rows.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using Eigen::Index;

struct Weighted {
  std::string name;  ///< "none", "keys", "values"
  MatrixD mean_map;
  std::vector<MatrixD> head_maps;
  std::vector<RouterHeadSummary> heads;  ///< layers ascending, then heads
};

struct RouterJob {
  RouterAnalysisOptions options;
  std::string label;
  Routers routers;
  std::vector<LayerRouter> layer_routers;  ///< the same, with all dimensions
  std::vector<Weighted> weightings;
  std::vector<RouterDrift> drift;
  VectorD distance_initial;  ///< empty without --initial
  std::optional<CaptureReader> capture;
  bool has_cancellation = false;     ///< the capture has token rows of the values of all layers
  std::optional<ModelConfig> plain;  ///< config of a decoder without a routing
  std::optional<SweepEffects> effects;
  std::uint64_t seed = 0;
};

Weighted weighted_by(const Routers& routers, const std::string& name, const HeadScales& scales) {
  return {name, router_mean_map(routers, scales), router_head_maps(routers, scales),
          summarize_routers(routers, scales)};
}

std::int64_t num_sequences_of(const RouterJob& job) {
  return num_sequences_used(*job.capture, job.options.max_sequences);
}

ValueBlocks value_blocks_of(const RouterJob& job, Index layer) {
  return ValueBlocks(*job.capture, layers_of_site("values", layer), job.routers.num_key_value_heads,
                     num_sequences_of(job));
}

void add_capture(RouterJob& job, const Checkpoint& checkpoint) {
  job.capture.emplace(*job.options.capture);
  const CaptureReader& capture = *job.capture;
  check_same_checkpoint(capture, checkpoint);
  for (const std::string site : {"keys", "values"}) {
    job.weightings.push_back(
        weighted_by(job.routers, site, head_scales_of(capture, site, job.routers)));
  }
  job.has_cancellation = capture.info().rows == RowKind::kTokens && capture.num_rows() > 0 &&
                         has_all_layers(capture, "values", job.routers.num_layers() - 1);
}

/// Columns common to rows of layers and of heads.
constexpr std::array<std::pair<NumberColumn, double RouterHeadSummary::*>, 8> kNumbers = {
    {{col::kEntropy, &RouterHeadSummary::entropy},
     {col::kEffectiveSources, &RouterHeadSummary::effective_sources},
     {col::kMeanDepth, &RouterHeadSummary::mean_depth},
     {col::kShareEmbedding, &RouterHeadSummary::share_embedding},
     {col::kShareFirstTwo, &RouterHeadSummary::share_first_two},
     {col::kSharePrevious, &RouterHeadSummary::share_previous},
     {col::kShareOwn, &RouterHeadSummary::share_own},
     {col::kShareNegative, &RouterHeadSummary::share_negative}}};

void add_numbers(ResultRow& row, std::span<const RouterHeadSummary> heads) {
  const double each = 1.0 / static_cast<double>(heads.size());
  for (const auto& [column, number] : kNumbers) {
    double mean = 0.0;
    for (const RouterHeadSummary& head : heads) mean += each * head.*number;
    row.set(column, mean);
  }
}

std::optional<VectorD> cancellation_of(const RouterJob& job, Index layer,
                                       const UnitContext& context) {
  if (!job.has_cancellation) return std::nullopt;
  const LayerRouter& router = job.layer_routers[static_cast<std::size_t>(layer)];
  const ValueBlocks blocks = value_blocks_of(job, layer);
  ValueBuffer buffer = blocks.make_buffer();
  CancellationIndex index(router.num_heads());
  std::int64_t done = 0;
  for (const ValueBlocks::Block& block : blocks.blocks()) {
    blocks.read(block, buffer, context.pool, context.stop);
    index.add(buffer, router, {0, block.num_rows});
    done += block.num_sequences;
    context.report(done, num_sequences_of(job));
  }
  return index.mean();
}

std::span<const RouterHeadSummary> heads_of_layer(const Weighted& weighted, Index layer,
                                                  Index heads) {
  return std::span(weighted.heads)
      .subspan(static_cast<std::size_t>(layer * heads), static_cast<std::size_t>(heads));
}

void add_layer_and_head_rows(const RouterJob& job, Index layer,
                             const std::optional<VectorD>& cancellation,
                             std::vector<ResultRow>& rows) {
  const auto at = static_cast<std::size_t>(layer);
  const Index heads = job.routers.num_key_value_heads;
  for (const Weighted& weighted : job.weightings) {
    ResultRow row = {{col::kKind, "layer"}, {col::kWeighting, weighted.name}};
    add_numbers(row, heads_of_layer(weighted, layer, heads));
    row.set(col::kDistanceOwn, job.drift[at].own_distance);
    if (layer > 0) row.set(col::kOthersRatio, job.drift[at].others_ratio);
    if (job.distance_initial.size() > 0) {
      row.set(col::kDistanceInitial, job.distance_initial(layer));
    }
    if (cancellation) row.set(col::kCancellation, cancellation->mean());
    rows.push_back(std::move(row));
  }
  if (job.options.detail == RouterDetail::kLayers) return;
  for (const Weighted& weighted : job.weightings) {
    for (const RouterHeadSummary& head : heads_of_layer(weighted, layer, heads)) {
      ResultRow row = {
          {col::kKind, "head"}, {col::kWeighting, weighted.name}, {col::kHead, head.head}};
      add_numbers(row, std::span(&head, 1));
      if (cancellation) row.set(col::kCancellation, (*cancellation)(head.head));
      rows.push_back(std::move(row));
    }
  }
}

std::vector<double> values_of(const MatrixD& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

void add_map_rows(const RouterJob& job, Index layer, std::vector<ResultRow>& rows) {
  const auto at = static_cast<std::size_t>(layer);
  const auto add_mean = [&](const std::string& name, const MatrixD& weights) {
    rows.push_back(matrix_row("router", "mean_map", {{col::kWeighting, name}}, {layer + 1},
                              values_of(weights)));
  };
  const MatrixD bare = job.weightings.front().mean_map.row(layer).head(layer + 1);
  for (const Weighted& weighted : job.weightings) {
    const MatrixD own = weighted.mean_map.row(layer).head(layer + 1);
    add_mean(weighted.name, own);
    if (&weighted == &job.weightings.front()) continue;
    add_mean(difference_name(weighted.name, "none"), own - bare);
  }
  if (job.options.detail == RouterDetail::kLayers) return;
  for (const Weighted& weighted : job.weightings) {
    const MatrixD map = weighted.head_maps[at].leftCols(layer + 1);
    rows.push_back(matrix_row("router", "head_map", {{col::kWeighting, weighted.name}},
                              {map.rows(), map.cols()}, values_of(map)));
  }
  if (job.options.detail == RouterDetail::kHeads) return;
  const MatrixD& router = job.routers.weights[at];
  rows.push_back(matrix_row("router", "weight", {},
                            {router.rows(), router.cols() / router.rows(), router.rows()},
                            values_of(router)));
}

Unit unit_of_layer(const std::shared_ptr<const RouterJob>& job, Index layer) {
  Unit unit;
  unit.key = {{col::kLabel, job->label}, {col::kLayer, layer}};
  unit.where = fmt::format("'{}': layer {}", job->options.checkpoint.string(), layer);
  if (job->has_cancellation) {
    const ValueBlocks blocks = value_blocks_of(*job, layer);
    unit.work = std::max<std::int64_t>(num_sequences_of(*job), 1);
    unit.where = fmt::format("'{}': layer {}", job->capture->path().string(), layer);
    // Also routed values and norms of one block in double.
    unit.bytes = blocks.bytes() + 4 * blocks.bytes_per_thread();
    unit.bytes_per_thread = blocks.bytes_per_thread();
  }
  unit.measure = [job, layer](const UnitContext& context) {
    UnitResult result;
    const std::optional<VectorD> cancellation = cancellation_of(*job, layer, context);
    add_layer_and_head_rows(*job, layer, cancellation, result.rows);
    add_map_rows(*job, layer, result.rows);
    if (job->plain) {
      std::ranges::move(plain_source_rows(*job->plain, layer), std::back_inserter(result.rows));
    }
    return result;
  };
  return unit;
}

/// Returns a checkpoint as input. Only config.json and the routers are read and hashed.
AnalysisInput routers_input(const Checkpoint& checkpoint, const std::string& label,
                            const Routers& routers) {
  const fs::path& config = checkpoint.files().config;
  Sha256 hash;
  hash.update(sha256_of_file(config));
  for (const MatrixD& router : routers.weights) {
    hash.update(std::as_bytes(std::span(router.data(), static_cast<std::size_t>(router.size()))));
  }
  return {checkpoint.path().string(), label, {config}, hash.hex_digest()};
}

/// Returns the mass of every source in a layer: its share of the weight, by weighting.
std::map<std::string, std::vector<ComponentMass>> masses_of(std::span<const UnitResult> units,
                                                            std::span<const ResultRow> keys,
                                                            bool of_reads) {
  std::map<std::string, std::vector<ComponentMass>> masses;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::int64_t layer = keys[i].integer(col::kLayer);
    for (const ResultRow& row : units[i].rows) {
      std::vector<ComponentMass>& own = masses[row.text(col::kWeighting)];
      if (of_reads && row.text(col::kKind) == "source_map") {
        ResultRow key = {{col::kLayer, layer}, {col::kSource, row.integer(col::kSource)}};
        if (row.text(col::kRead) != "kv") key.set(col::kRead, row.text(col::kRead));
        own.push_back({std::move(key), row.number(col::kShare)});
      } else if (!of_reads && row.text(col::kKind) == "mean_map") {
        const std::vector<double>& weights = array_in(row, col::kWeight).values;
        for (std::size_t source = 0; source < weights.size(); ++source) {
          own.push_back({{{col::kLayer, layer}, {col::kSource, source}}, weights[source]});
        }
      }
    }
  }
  std::erase_if(masses, [](const auto& entry) {
    return entry.second.empty() || is_difference_name(entry.first);
  });
  return masses;
}

/// Reads the effects of the sweep, whose rows are computed after all units.
void open_effects(const std::shared_ptr<RouterJob>& job, const Checkpoint& checkpoint,
                  Analysis& analysis) {
  const fs::path& path = job->options.effects;
  if (path.empty()) return;
  job->effects.emplace(path, "depth-weights", std::vector<std::string>{"route", "depth-weight"});
  job->effects->check_model(checkpoint.sha256(), checkpoint.path().string());
  analysis.inputs.push_back(job->effects->input());
  if (job->capture) {
    const std::string warning = job->effects->warning_on_text(job->capture->info().input_sha256);
    if (!warning.empty()) analysis.warnings.push_back(warning);
  }
  std::vector<ResultRow> keys;
  for (const Unit& unit : analysis.units) keys.push_back(unit.key);
  const std::string part = job->effects->has_part("depth-weight") ? "depth-weight" : "route";
  const bool of_reads = part == "depth-weight" || !source_site(checkpoint.config()).empty();
  analysis.more_rows = [job, keys, part, of_reads](std::span<const UnitResult> units) {
    std::vector<ResultRow> rows;
    for (const auto& [weighting, components] : masses_of(units, keys, of_reads)) {
      std::ranges::move(effect_rows(*job->effects, part,
                                    {{col::kLabel, job->label}, {col::kWeighting, weighting}},
                                    components, {.resamples = 2000, .seed = job->seed}),
                        std::back_inserter(rows));
    }
    return rows;
  };
  analysis.present = [present = analysis.present](Report& report,
                                                  std::span<const UnitResult> units) {
    present(report, units);
    add_effect_sections(report, "routing weight");
  };
}

/// Prepares the description of weights that only a capture contains.
Analysis prepare_sources(const std::shared_ptr<RouterJob>& job, const Checkpoint& checkpoint,
                         std::uint64_t seed) {
  const RouterAnalysisOptions& options = job->options;
  const ModelConfig config = checkpoint.config();
  throw_if(options.initial.has_value(), OptionName("initial"),
           "the routers of '{}' have no fixed weights to compare; omit it", config.name());
  throw_if(!options.capture,
           "'{}': the routing weights of '{}' are read from a capture; run lime-capture --sites {} "
           "and "
           "give its file as the second argument",
           checkpoint.path().string(), config.name(), source_site(config));
  job->capture.emplace(*options.capture);
  check_same_checkpoint(*job->capture, checkpoint);
  Analysis analysis = analysis_of("router", options);
  analysis.inputs = {capture_input(*job->capture, job->label)};
  analysis.warnings = checkpoint.warnings();
  analysis.units = source_units(*job->capture, config, job->label, num_sequences_of(*job), seed);
  // The units refer to the job's capture.
  analysis.present = [job, config](Report& report, auto) {
    fill_source_report(report, job->label, config);
  };
  open_effects(job, checkpoint, analysis);
  return analysis;
}

RouterNotes notes_of(const RouterJob& job, const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  return {
      .checkpoint = job.options.checkpoint.string(),
      .label = job.label,
      .capture = job.capture ? job.capture->path().string() : "",
      .num_layers = job.routers.num_layers(),
      .num_heads = job.routers.num_key_value_heads,
      .is_routed = config.routing == DepthRouting::kLime && config.lime.router != RouterKind::kNone,
      .has_cancellation = job.has_cancellation,
      .per_dimension = config.lime.per_dimension};
}

}  // namespace

void RouterAnalysisOptions::describe_inputs(OptionList& list) {
  list.add("checkpoint", checkpoint, "checkpoint folder or GGUF file");
  list.add("capture", capture,
           "capture of the checkpoint, for maps that do not depend on the scale of the heads");
}

void RouterAnalysisOptions::describe(OptionList& list) {
  list.add("label", label, "name in tables and results; default: the folder name");
  list.add("initial", initial, "checkpoint at initialisation, to measure the distance from it");
  list.add("effects", effects,
           "results of lime-capture sweep --over depth-weights of this checkpoint: routing weight "
           "and effect of each source, and whether they agree");
  list.add("detail", detail, "level of detail: layers, heads, or every signed weight");
  list.add("max_sequences", max_sequences,
           "use only the first N sequences of the capture for the cancellation index");
}

void RouterAnalysisOptions::validate() const {
  throw_if(checkpoint.empty(), OptionName("checkpoint"), "expected a checkpoint, got none");
  require_positive("max_sequences", max_sequences);
  throw_if(max_sequences && !capture, OptionName("max_sequences"), "requires a capture, got none");
}

Analysis prepare_router(const RouterAnalysisOptions& options, const RunOptions& run) {
  options.validate();
  const auto job = std::make_shared<RouterJob>();
  job->options = options;
  job->label = options.label.empty() ? checkpoint_label(options.checkpoint) : options.label;
  const Checkpoint checkpoint = Checkpoint::open(options.checkpoint);
  job->seed = run.seed;
  if (!source_site(checkpoint.config()).empty()) return prepare_sources(job, checkpoint, run.seed);
  if (checkpoint.config().routing == DepthRouting::kNone) job->plain = checkpoint.config();
  job->routers = routers_of(checkpoint);
  job->layer_routers = layer_routers_of(checkpoint);
  job->weightings.push_back(weighted_by(job->routers, "none", unit_scales(job->routers)));
  job->drift = router_drift(job->routers);

  Analysis analysis = analysis_of("router", options);
  analysis.inputs.push_back(routers_input(checkpoint, job->label, job->routers));
  analysis.warnings = checkpoint.warnings();
  if (options.initial) {
    const Checkpoint first = Checkpoint::open(*options.initial);
    const Routers initial = routers_of(first);
    job->distance_initial = router_distance(job->routers, initial);
    analysis.inputs.push_back(routers_input(first, "initial", initial));
  }
  if (options.capture) {
    add_capture(*job, checkpoint);
    analysis.inputs.push_back(capture_input(*job->capture, "capture"));
  }
  for (Index layer = 0; layer < job->routers.num_layers(); ++layer) {
    analysis.units.push_back(unit_of_layer(job, layer));
  }
  analysis.present = [notes = notes_of(*job, checkpoint)](Report& report, auto) {
    fill_router_report(report, notes);
  };
  open_effects(job, checkpoint, analysis);
  return analysis;
}

}  // namespace lime
