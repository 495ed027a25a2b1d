// SPDX-License-Identifier: Apache-2.0
#include "analysis/series/series_analysis.h"

#include <cmath>
#include <set>
#include <unordered_map>

#include "analysis/attention/attention_analysis.h"
#include "analysis/engine/capture_rows.h"
#include "analysis/engine/stored_results.h"
#include "analysis/entropy/entropy_analysis.h"
#include "analysis/experts/experts_analysis.h"
#include "analysis/geometry/geometry_analysis.h"
#include "analysis/lens/lens_analysis.h"
#include "analysis/separability/separability_analysis.h"
#include "analysis/series/series_inputs.h"
#include "analysis/series/turns.h"
#include "analysis/similarity/similarity_map.h"
#include "analysis/streams/streams_analysis.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDrift = "drift";
constexpr const char* kTurn = "turn";

template <typename Options>
Analysis prepare_with(Analysis (*prepare)(const Options&, const RunOptions&),
                      const CaptureSetOptions& captures, const RunOptions& run) {
  Options options;
  options.captures = captures;
  return prepare(options, run);
}

Analysis prepare_metric(SeriesMetric metric, const CaptureSetOptions& captures,
                        const RunOptions& run) {
  if (metric == SeriesMetric::kGeometry) return prepare_with(prepare_geometry, captures, run);
  if (metric == SeriesMetric::kLens) return prepare_with(prepare_lens, captures, run);
  if (metric == SeriesMetric::kAttention) return prepare_with(prepare_attention, captures, run);
  if (metric == SeriesMetric::kExperts) return prepare_with(prepare_experts, captures, run);
  if (metric == SeriesMetric::kStreams) return prepare_with(prepare_streams, captures, run);
  if (metric == SeriesMetric::kSeparability) {
    return prepare_with(prepare_separability, captures, run);
  }
  return prepare_with(prepare_entropy, captures, run);
}

/// Returns the units that compare each layer with itself at the first, then at the previous and the
/// last step of its model. @param places  of the captures, by model and step
std::vector<Unit> drift_units(const std::shared_ptr<const SimilarityTask>& task,
                              const std::vector<ModelStep>& places) {
  std::vector<Unit> units;
  for (const std::string name : {"first", "previous", "last"}) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto steps = std::ranges::equal_range(places, places[i].model, {}, &ModelStep::model);
      const auto first = static_cast<std::size_t>(steps.begin() - places.begin());
      const std::size_t other = name == "last"    ? first + steps.size() - 1
                                : name == "first" ? first
                                                  : i - (i == first ? 0 : 1);
      if (other == i) continue;
      for (const auto& [site, layers] : task->captures[i].parts) {
        for (const int layer : layers) {
          const MapPlan plan{other, i, site, {layer}, {layer}};
          Unit& unit = units.emplace_back(layer_unit(task->captures[i], site, layer));
          unit.key.set(col::kReference, name);
          unit.work = 1 + task->options.jackknife;
          set_bytes(unit, *task, plan);
          unit.measure = [task, plan](const UnitContext& context) {
            UnitResult result = measure_map(*task, plan, context);
            for (ResultRow& row : result.rows) row.erase(col::kOtherLayer);
            return result;
          };
        }
      }
    }
  }
  return units;
}

/// Refuses captures of one model that contain different tokens.
void check_tokens(const ChosenCapture& before, const ChosenCapture& capture) {
  const std::string& tokenizer = capture.reader.info().tokenizer_sha256;
  throw_if(before.reader.info().tokenizer_sha256 != tokenizer,
           "{} and {}: have different tokenizers, but a series requires the same at every step",
           quoted_path(before.reader), quoted_path(capture.reader));
  check_same_tokens(before.reader, capture.reader,
                    "a series requires the same at every step; capture all steps with the same "
                    "text and tokenizer");
}

void add_captures(const SeriesOptions& options, const SeriesInputs& inputs, const RunOptions& run,
                  Analysis& analysis) {
  SimilarityAnalysisOptions drift = options.drift;
  drift.captures.captures.clear();
  std::vector<ModelStep> places;
  for (const auto& [place, path] : inputs.captures) {
    drift.captures.captures.push_back(path);
    drift.captures.label.push_back(fmt::format("{}, step {}", place.model, place.step));
    places.push_back(place);
  }
  const std::vector<ChosenCapture> captures = open_without_parts(drift.captures);
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].model == places[i - 1].model) check_tokens(captures[i - 1], captures[i]);
  }
  analysis.inputs = capture_inputs(captures);
  std::vector<SeriesMetric> metrics = options.metric;
  if (metrics.empty()) metrics = {SeriesMetric::kDrift, SeriesMetric::kEntropy};
  for (const SeriesMetric metric : metrics) {
    Analysis own;
    own.metric = kDrift;
    if (metric == SeriesMetric::kDrift) {
      const std::shared_ptr<const SimilarityTask> task = open_similarity(drift, run.seed);
      own.units = drift_units(task, places);
      own.notes = notes_on_rows(task->captures);
    } else {
      own = prepare_metric(metric, drift.captures, run);
    }
    for (Unit& unit : own.units) {
      const std::string& label = unit.key.text(col::kLabel);
      const auto at = std::ranges::find(drift.captures.label, label) - drift.captures.label.begin();
      const ModelStep& place = places[static_cast<std::size_t>(at)];
      const ResultRow key = unit.key;
      unit.key.set(col::kLabel, place.model).set(col::kStep, place.step);
      unit.key.set(col::kQuantity, own.metric);
      unit.identity.clear();
      unit.measure = [key, place, metric_name = own.metric,
                      measure = std::move(unit.measure)](const UnitContext& context) {
        UnitResult result;
        for (const ResultRow& row : measure(context).rows) {
          add_series_rows(place, metric_name, ResultRow(key).add(row), result.rows);
        }
        return result;
      };
      analysis.units.push_back(std::move(unit));
    }
    std::ranges::move(own.warnings, std::back_inserter(analysis.warnings));
    for (std::string& note : own.notes) {
      if (std::ranges::find(analysis.notes, note) == analysis.notes.end()) {
        analysis.notes.push_back(std::move(note));
      }
    }
  }
}

/// Returns a row per turn of each curve. @throws InvalidArgument  if a step occurs twice in one.
std::vector<ResultRow> turn_rows(std::span<const UnitResult> units) {
  std::unordered_map<ResultRow, std::map<std::int64_t, const ResultRow*>, ResultRowHash> curves;
  for (const UnitResult& unit : units) {
    for (const ResultRow& row : unit.rows) {
      ResultRow curve = row;
      for (const Column& column : std::initializer_list<Column>{col::kStep, col::kMean, col::kCiLow,
                                                                col::kCiHigh, col::kN}) {
        curve.erase(column);
      }
      if (curves[curve].emplace(row.integer(col::kStep), &row).second) continue;
      throw InvalidArgument(
          OptionName("inputs"),
          "step {} of '{}' has two values of {}; give each step once, or name the models "
          "with --model",
          row.integer(col::kStep), row.text(col::kLabel), row.text(col::kMeasure));
    }
  }
  // In the order of their texts, whatever that of the inputs.
  std::vector<const decltype(curves)::value_type*> ordered;
  for (const auto& curve : curves) ordered.push_back(&curve);
  std::ranges::sort(ordered, {}, [](const auto* curve) { return json_text(curve->first); });
  std::vector<ResultRow> rows;
  for (const auto* const curve : ordered) {
    const auto& by_step = curve->second;
    std::vector<SeriesPoint> points;
    std::vector<const ResultRow*> at;
    for (const auto& [step, row] : by_step) {
      const double mean = row->number(col::kMean);
      const bool has_interval = row->has(col::kCiLow);
      points.push_back({mean, has_interval ? row->number(col::kCiLow) : mean,
                        has_interval ? row->number(col::kCiHigh) : mean,
                        static_cast<double>(step)});
      at.push_back(row);
    }
    for (const Turn& turn : find_turns(points)) {
      ResultRow& row = rows.emplace_back(ResultRow{{col::kKind, kTurn}}).add(*at[turn.at]);
      row.add({{col::kTurn, turn.kind},
               {col::kStepLow, at[turn.before]->integer(col::kStep)},
               {col::kStepHigh, at[turn.after]->integer(col::kStep)}});
    }
  }
  return rows;
}

/// Returns "lime, hidden, cka_debiased to the first step".
std::string heading_of(const ResultRow& row) {
  std::string heading = row.text(col::kLabel);
  if (row.has(col::kSite)) heading += ", " + row.text(col::kSite);
  heading += ", " + row.text(col::kMeasure);
  return row.has(col::kReference)
             ? fmt::format("{} to the {} step", heading, row.text(col::kReference))
             : heading;
}

/// Returns the rows to print: of the drift only `measure`, with the columns of the table.
Results printed_rows(Results results, std::string_view measure) {
  std::erase_if(results.rows, [&](const ResultRow& row) {
    return row.text(col::kQuantity) == kDrift && row.text(col::kMeasure) != measure;
  });
  for (ResultRow& row : results.rows) {
    row.set(col::kName, heading_of(row));
    row.set(col::kText, row.has(col::kLayer) ? row.shown(col::kLayer) : "model");
  }
  return results;
}

/// Files contain "bend"; tables print the term of the field.
TableColumn turn_column() {
  return {.header = "point", .cell = [](const ResultRow& row) {
            const std::string& turn = row.text(col::kTurn);
            return turn == "bend" ? std::string("change point") : turn;
          }};
}

void fill_report(Report& report, const SimilarityMeasureInfo& shown) {
  TableLayout& layout = report.layout;
  layout.block = {col::kName};
  layout.line = col::kStep;
  layout.series = col::kText;
  layout.spread = layout.ceiling = {};
  if (!rows_with(report.results.rows, {{col::kQuantity, kDrift}}).empty()) {
    report.notes = {fmt::format("drift: {}", shown.meaning)};
  }
  report.legend = "lines: training steps; columns: layers; cells: mean, [interval]";
  const std::string_view drift = shown.value.name;
  report.parts = [layout, drift](const Results& results) -> std::vector<ReportPart> {
    return {{pivot_table(printed_rows(results, drift), layout)}};
  };
  report.sections = {
      {.kind = kTurn,
       .notes =
           {"extrema: maxima and minima between steps with clearly different values (intervals "
            "apart); change point: the step with the clearest other change of slope"},
       .columns = {table_column(col::kLayer), turn_column(), table_column(col::kStep),
                   table_column(col::kStepLow, "after"), table_column(col::kStepHigh, "before"),
                   number_column(col::kMean, 3)},
       .heading = heading_of}};
}

}  // namespace

void SeriesOptions::describe_inputs(OptionList& list) {
  list.add("inputs", inputs, "captures of several training steps, or JSON results of any metric");
}

void SeriesOptions::describe(OptionList& list) {
  list.add("steps", steps, "training step of each input; default: from the names, e.g. step-1000");
  list.add("model", model, "model of each input, in order; default: the names without the step")
      .takes_several = true;
  list.add("metric", metric, "measurements of captures; default: drift,entropy");
  list.add("layer", drift.captures.layer, "layers, counted from 0: all, or a list, e.g. 0,3,8-15");
  list.add("site", drift.captures.site,
           "sites of captures, e.g. values,hidden; default: all except those of attention, routers "
           "and the logit lens");
  drift.captures.describe_skip(list);
  list.group("Drift");
  list.add("drift", drift.measure, "groups of measures; default: all except neighbors");
  list.add("show", drift.show,
           "measure of the printed drift; files contain all; default: cka-debiased, or the first "
           "that is computed");
  list.add("max_rows", drift.max_rows, "rows drawn at random for the drift, >= 4");
  list.add("jackknife", drift.jackknife,
           "jackknife blocks of sequences, for intervals of CKA and Procrustes, >= 5; 0: none");
}

void SeriesOptions::validate() const {
  throw_if(inputs.empty(), OptionName("inputs"),
           "expected captures or results of at least two steps, got none");
  for (const auto& [name, given] :
       {std::pair("steps", steps.size()), std::pair("model", model.size())}) {
    if (given == 0 || given == inputs.size()) continue;
    throw InvalidArgument(OptionName(name), "expected one per input, got {} for {}", given,
                          inputs.size());
  }
}

namespace {

/// Refuses options that omit rows or dimensions where a measurement has no such rows.
void check_skipped(const SeriesOptions& options, bool has_captures) {
  const CaptureSetOptions& captures = options.drift.captures;
  for (const auto& [name, is_given] : {std::pair("skip_massive", captures.skip_massive.has_value()),
                                       std::pair("skip_dims", !captures.skip_dims.is_none())}) {
    if (!is_given) continue;
    throw_if(!has_captures, OptionName(name),
             "applies to captures only; compute the results again with it, or omit it");
    for (const SeriesMetric metric : options.metric) {
      const bool is_lens = metric == SeriesMetric::kLens && name == std::string_view("skip_dims");
      const bool is_of_routes = metric == SeriesMetric::kAttention ||
                                metric == SeriesMetric::kExperts ||
                                metric == SeriesMetric::kStreams;
      throw_if(is_of_routes || is_lens, OptionName(name),
               "does not apply to --metric {}; measure it in a series of its own",
               enum_name(metric));
    }
  }
}

}  // namespace

Analysis prepare_series(const SeriesOptions& options, const RunOptions& run) {
  options.validate();
  SeriesInputs inputs = read_inputs(options);
  check_skipped(options, !inputs.captures.empty());
  Analysis analysis = analysis_of("series", options);
  if (!inputs.captures.empty()) add_captures(options, inputs, run, analysis);
  for (const fs::path& path : options.inputs) {
    if (path.extension() == ".json") {
      analysis.inputs.push_back({path.string(), path.string(), {path}});
    }
  }
  Unit& unit = analysis.units.emplace_back();
  unit.where = "series";
  unit.measure = [rows = std::move(inputs.rows)](const UnitContext&) {
    return UnitResult{.rows = rows, .samples = {}, .matrices = {}};
  };
  analysis.threads = threads_for(analysis.units, run);
  analysis.more_rows = turn_rows;
  analysis.present = [shown = info_of(options.drift.shown())](Report& report, auto) {
    fill_report(report, shown);
  };
  return analysis;
}

}  // namespace lime
