// SPDX-License-Identifier: Apache-2.0
#include "sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include "analysis/engine/analysis.h"
#include "analysis/engine/row_summaries.h"
#include "capture/capture_options.h"
#include "capture/capture_sizes.h"
#include "capture/input/input_prefix.h"
#include "capture/sweep.h"
#include "metrics/correlation.h"
#include "metrics/summary.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/rotary.h"

namespace lime {
namespace {

struct SweepOptions {
  CaptureOptions input;
  SweepOver over = SweepOver::kEdits;
  LayerSelection layers;  ///< whose components are ablated
  std::string ablation = "zero";
  bool later = false;  ///< also measure the change of later layers
  std::string label;
  std::int64_t batch_size = 8;
  std::string device = "auto";
  ComputeType dtype = ComputeType::kFloat32;
  SummaryOptions summary;

  void describe_inputs(OptionList&) {}
  void describe(OptionList& list) {
    input.describe_input(list);
    list.group("Interventions");
    list.add("over", over,
             "edits: all of --edit together; else each component alone: layers, sublayers, heads, "
             "routes of a LIMe, routes between heads, positions, depth-weights of any routing, "
             "experts, or residual streams");
    list.add("layers", layers,
             "with --over: layers whose components are ablated, from 0: all, or e.g. 0,3,8-15");
    list.add("ablation", ablation,
             "replacement of a component: zero, mean, mean=CAPTURE.h5, resample, scale=F; of "
             "experts also mask: their tokens select the next experts");
    list.add("later", later,
             "also measure how much each intervention changes what every later layer writes");
    list.add("label", label,
             "name of the model in tables and results; default: that of the checkpoint");
    list.add("batch_size", batch_size, "sequences per pass, which mean and resample depend on");
    list.add("device", device, "auto, cpu, cuda or cuda:N");
    list.add("dtype", dtype, "data type of the computation");
    summary.describe(list);
  }
  void validate() const {
    input.validate_input();
    check_option(batch_size >= 1, "batch_size", ">= 1", batch_size);
    summary.validate("bootstrap");
    const bool is_edits = over == SweepOver::kEdits;
    throw_if(is_edits && input.edit.empty(), OptionName("edit"),
             "is missing; pass --edit, or e.g. --over heads");
    throw_if(!is_edits && !input.edit.empty(), OptionName("edit"),
             "--over {} edits each component in turn; omit --edit", enum_name(over));
    throw_if(is_edits && !layers.is_all(), OptionName("layers"),
             "selects components of --over; name the layers of an edit in --edit");
    const bool is_routes = over == SweepOver::kRoutes || over == SweepOver::kHeadRoutes;
    throw_if(is_routes && ablation != "zero", OptionName("ablation"),
             "routes are set to zero, got '{}'", ablation);
  }
};

/// The model, its input and the interventions, which the units share.
struct SweepRun {
  std::string label;
  SummaryOptions summary;
  CaptureInput input;
  Decoder decoder;
  std::vector<SweepItem> items;
  std::vector<std::int64_t> sequences = {};  ///< those with a scored token
  bool later = false;
};

/// Splits the sequences into passes of at most `batch_size` that are rotated alike.
std::vector<std::vector<std::int64_t>> batches_of(const SweepRun& run, std::int64_t batch_size) {
  const auto& ropes = run.decoder.config().spec.ropes;
  std::vector<std::vector<std::int64_t>> batches;
  for (const std::int64_t sequence : run.sequences) {
    const bool starts = batches.empty() || std::ssize(batches.back()) == batch_size ||
                        rotates_differently(ropes, run.input.length(batches.back().front()),
                                            run.input.length(sequence));
    if (starts) batches.emplace_back();
    batches.back().push_back(sequence);
  }
  return batches;
}

UnitResult measure_batch(const SweepRun& run, const std::vector<std::int64_t>& sequences,
                         const UnitContext& context) {
  std::int64_t done = 0;
  const PassThreads threads;
  const auto on_item = [&] {
    if (context.stop.stop_requested()) throw Interrupted("sweep: interrupted");
    context.report(++done, std::ssize(run.items));
  };
  SweepResult measured =
      measure_sweep(run.decoder, run.input, run.items, sequences, on_item, run.later);
  UnitResult result;
  result.matrices = {{"loss", std::move(measured.loss)},
                     {"logit_difference", std::move(measured.logit_difference)},
                     {"attribution", std::move(measured.attribution)}};
  if (run.later) result.matrices.push_back({"later", std::move(measured.later)});
  return result;
}

/// Returns the summary over the sequences of all batches of each intervention, the original model
/// first. @param minus_original  paired differences
std::vector<Summary> summaries_of(std::span<const UnitResult> units, std::size_t matrix,
                                  bool minus_original, const SummaryOptions& options) {
  std::vector<std::vector<double>> samples;
  for (const UnitResult& unit : units) {
    const MatrixD& values = unit.matrices[matrix].values;
    samples.resize(static_cast<std::size_t>(values.rows()));
    for (Eigen::Index i = 0; i < values.size(); ++i) {
      const Eigen::Index row = i / values.cols();
      const Eigen::Index column = i % values.cols();
      samples[static_cast<std::size_t>(row)].push_back(values(row, column) -
                                                       (minus_original ? values(0, column) : 0.0));
    }
  }
  return summarize_together(samples, options);
}

/// Returns the change of what every later layer writes, of every intervention.
std::vector<ResultRow> later_rows(const SweepRun& run, std::span<const UnitResult> units) {
  constexpr std::size_t kLater = 3;
  const std::vector<Summary> all = summaries_of(units, kLater, false, run.summary);
  const auto layers = static_cast<std::size_t>(run.decoder.config().num_hidden_layers);
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < run.items.size(); ++i) {
    const SweepItem& item = run.items[i];
    // The output of a layer of which all is edited is that of the edit.
    const bool is_whole = item.key.text(col::kPart) == "layer";
    for (auto layer = static_cast<std::size_t>(item.first_layer + (is_whole ? 1 : 0));
         layer < layers; ++layer) {
      const Summary& change = all[i * layers + layer];
      ResultRow& row =
          rows.emplace_back(ResultRow{{col::kLabel, run.label}, {col::kKind, "later"}});
      row.add(item.key);
      row.add({{col::kLaterLayer, layer},
               {col::kChange, change.mean},
               {col::kChange.low, change.ci_low},
               {col::kChange.high, change.ci_high},
               {col::kN, change.n}});
    }
  }
  return rows;
}

std::vector<ResultRow> rows_of(const SweepRun& run, std::span<const UnitResult> units) {
  std::vector<ResultRow> rows = {{{col::kLabel, run.label}, {col::kPart, "original"}}};
  for (const SweepItem& item : run.items) {
    rows.emplace_back(ResultRow{{col::kLabel, run.label}}).add(item.key);
  }
  const auto add = [&](std::size_t matrix, bool is_effect, const MeasuredColumn& column) {
    const std::vector<Summary> all = summaries_of(units, matrix, is_effect, run.summary);
    for (std::size_t i = is_effect ? 1 : 0; i < rows.size(); ++i) {
      const bool is_estimate = column.name == col::kAttribution.name;
      if (is_estimate && !run.items[i - 1].has_estimate()) continue;
      rows[i].add({{column, all[i].mean},
                   {column.low, all[i].ci_low},
                   {column.high, all[i].ci_high},
                   {col::kN, all[i].n}});
    }
  };
  add(0, false, col::kLoss);
  add(0, true, col::kEffect);
  add(1, false, col::kLogitDifference);
  add(1, true, col::kLogitEffect);
  add(2, true, col::kAttribution);
  for (ResultRow& row : std::span(rows).subspan(1)) {
    if (!row.has(col::kAttribution)) continue;
    row.set(col::kAttributionError, row.number(col::kAttribution) - row.number(col::kEffect));
  }
  if (run.later) std::ranges::move(later_rows(run, units), std::back_inserter(rows));
  return rows;
}

Table effect_table(const Results& main) {
  std::vector<TableColumn> columns;
  for (const Column& column : std::initializer_list<Column>{
           col::kPart, col::kLayer, col::kRead, col::kHead, col::kSource, col::kSourceHead,
           col::kPosition, col::kExpert, col::kStream}) {
    columns.push_back(table_column(column));
  }
  for (const Column& column : std::initializer_list<Column>{
           col::kLoss, col::kEffect, col::kEffect.low, col::kEffect.high, col::kAttribution,
           col::kAttributionError, col::kLogitDifference, col::kLogitEffect}) {
    columns.push_back(number_column(column, 4));
  }
  const RowPointers rows = rows_with(main.rows, {{col::kKind, ""}});
  return column_table(rows, present_in(rows, std::move(columns)));
}

/// Returns the map of the changes of later layers, of whole layers that are removed; else nothing.
std::vector<ReportPart> later_map(const Results& main) {
  const RowPointers rows = rows_with(main.rows, {{col::kKind, "later"}, {col::kPart, "layer"}});
  if (rows.empty()) return {};
  std::int64_t layers = 0;
  for (const ResultRow* const row : rows) {
    layers = std::max(layers, row->integer(col::kLaterLayer) + 1);
  }
  MatrixD map = MatrixD::Constant(layers, layers, std::numeric_limits<double>::quiet_NaN());
  for (const ResultRow* const row : rows) {
    map(row->integer(col::kLaterLayer), row->integer(col::kLayer)) = row->number(col::kChange);
  }
  return {
      {TextMap{"change of what a layer writes (row) without an earlier layer (column), percent "
               "of its norm, mean over tokens",
               std::move(map)}}};
}

void present(const SweepRun& run, Report& report) {
  const std::size_t count = run.sequences.size();
  report.notes = {
      fmt::format("Effect of interventions on the loss of '{}' (nats per token, {}{})", run.label,
                  count == 1 ? "one sequence" : fmt::format("mean over {} sequences", count),
                  interval_legend(run.summary))};
  std::vector<double> effects, estimates;
  double size = 0.0, error = 0.0;
  for (const ResultRow& row : std::span(report.results.rows).subspan(1)) {
    if (!row.has(col::kAttribution)) continue;
    effects.push_back(row.number(col::kEffect));
    estimates.push_back(row.number(col::kAttribution));
    size += std::abs(effects.back());
    error += std::abs(row.number(col::kAttributionError));
  }
  if (effects.size() > 2 && size > 0.0) {
    report.notes.push_back(fmt::format(
        "attribution: rank correlation with the effect {:.2f}, mean error {:.0f}% of the mean "
        "effect; sharing the layers below saves {:.0f}% of the passes through layers",
        spearman_correlation(effects, estimates), 100.0 * error / size,
        100.0 * saved_passes(run.items, run.decoder.config())));
  }
  report.results.provenance["saved_layer_passes"] = saved_passes(run.items, run.decoder.config());
  report.parts = [later = run.later](const Results& main) {
    std::vector<ReportPart> parts = {{effect_table(main)}};
    if (later) std::ranges::move(later_map(main), std::back_inserter(parts));
    return parts;
  };
}

/// Keeps the components of the selected layers.
/// @throws InvalidArgument  if a layer does not exist, or has no component
void select_layers(std::vector<SweepItem>& items, const LayerSelection& layers) {
  if (layers.is_all()) return;
  std::vector<int> available;
  for (const SweepItem& item : items) {
    const auto layer = static_cast<int>(item.key.integer(col::kLayer));
    if (available.empty() || available.back() != layer) available.push_back(layer);
  }
  const std::vector<int> chosen = layers.choose_from(available, OptionName("layers"));
  std::erase_if(items, [&](const SweepItem& item) {
    const auto layer = static_cast<int>(item.key.integer(col::kLayer));
    return std::ranges::find(chosen, layer) == chosen.end();
  });
}

Analysis prepare_sweep(const SweepOptions& options, const RunOptions& run_options) {
  options.validate();
  use_threads(run_options.num_threads());
  const Checkpoint checkpoint = Checkpoint::open(options.input.checkpoint);
  const ModelConfig& config = checkpoint.config();
  config.require_head("sweep");
  const ModelEdits edits = read_edits(options.input.edit);
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_for(options.input);
  CaptureInput input = read_input(options.input, config, tokenizer.get());
  input.truncate(options.input.max_sequences.value_or(input.num_sequences()));
  check_edited_positions(edits, config, input.longest());
  std::int64_t shortest = input.longest();
  for (std::int64_t s = 0; s < input.num_sequences(); ++s) {
    shortest = std::min(shortest, input.length(s));
  }
  std::vector<SweepItem> items =
      sweep_items(options.over, edits, options.ablation, config, shortest);
  select_layers(items, options.layers);
  const auto run = std::make_shared<SweepRun>(
      options.label.empty() ? checkpoint_label(checkpoint.path()) : options.label, options.summary,
      std::move(input),
      load_decoder(checkpoint, {.devices = parse_devices(options.device), .dtype = options.dtype}),
      std::move(items));
  run->later = options.later;
  run->summary.seed = run_options.seed;
  Analysis analysis = analysis_of("sweep", options);
  analysis.options["edit"] = edits_to_json(edits);
  if (run->input.packing) analysis.options["packing"] = enum_name(*run->input.packing);
  AnalysisInput& model = analysis.inputs.emplace_back();
  model.path = checkpoint.path().string();
  model.label = run->label;
  model.sha256 = checkpoint.sha256();
  model.text_sha256 = run->input.sha256();
  analysis.warnings = checkpoint.warnings();
  std::ranges::move(input_warnings(run->input, options.input, config, tokenizer.get()),
                    std::back_inserter(analysis.warnings));
  const std::int64_t all = run->input.num_sequences();
  for (std::int64_t s = 0; s < all; ++s) {
    if (!run->input.scored_of(s).empty()) run->sequences.push_back(s);
  }
  const std::int64_t scored = std::ssize(run->sequences);
  throw_if(scored == 0, "sweep: none of the {} sequences has a token to score", all);
  if (scored < all) {
    analysis.warnings.push_back(fmt::format(
        "{} of {} sequences have no token to score and are left out", all - scored, all));
  }
  for (const std::vector<std::int64_t>& batch : batches_of(*run, options.batch_size)) {
    Unit& unit = analysis.units.emplace_back();
    unit.key = {{col::kLabel, run->label}, {col::kSequence, batch.front()}};
    unit.where = fmt::format("sequences {} to {}", batch.front(), batch.back());
    unit.work = std::ssize(run->items);
    // The graph of a backward pass keeps the activations of all layers.
    unit.bytes = pass_elements_per_token(config) * run->input.longest() * std::ssize(batch) *
                 (config.num_hidden_layers + 3) * 4;
    unit.measure = [run, batch](const UnitContext& context) {
      return measure_batch(*run, batch, context);
    };
  }
  analysis.threads = UnitThreads::kInside;
  analysis.more_rows = [run](std::span<const UnitResult> units) { return rows_of(*run, units); };
  analysis.present = [run](Report& report, std::span<const UnitResult>) { present(*run, report); };
  return analysis;
}

}  // namespace

void add_sweep_command(MetricCommands& commands) {
  commands.add(
      prepare_sweep,
      {.name = "sweep",
       .description = "Measures the effect of interventions on the loss: of --edit, or of every "
                      "layer, head, route, position, depth weight, expert or stream in turn.",
       .progress_unit = "interventions",
       .examples = "lime-capture sweep --checkpoint DIR --lines texts.txt --over heads -o "
                   "heads.json\n"
                   "lime-capture sweep --checkpoint DIR --lines texts.txt --over depth-weights -o "
                   "depth.json\n"
                   "lime-capture sweep --checkpoint DIR --lines texts.txt --edit 'skip "
                   "mlp layers=3' -o skip.json",
       .has_samples = false});
}

}  // namespace lime
