// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_analysis.h"

#include <cmath>

#include "analysis/blimp/blimp_probes.h"
#include "core/utf8.h"
#include "metrics/comparison/minimal_pairs.h"

namespace lime {
namespace {

/// Returns tie rule and name of a capture's preset. @throws InvalidArgument  if it has no scores.
std::pair<TieRule, std::string> zero_shot_preset(const CaptureReader& capture) {
  const Json& options = capture.info().options;
  throw_if(
      !std::ranges::any_of(capture.sequences(), &Sequence::is_scored),
      "'{}': contains no log-likelihoods; capture the pairs with lime-capture --log-likelihood",
      capture.path().string());
  const Json named = options.value("blimp_preset", Json());
  const std::string preset = named.is_string() ? named.get<std::string>() : "";
  if (preset == "lm-eval") return {TieRule::kCorrect, preset};
  if (preset == "blimp-paper") return {TieRule::kIncorrect, preset};
  throw FormatError("'{}': blimp_preset must be lm-eval or blimp-paper, got '{}'",
                    capture.path().string(), printable(preset));
}

BlimpShared::Input open_input(ChosenCapture capture, const BlimpOptions& options) {
  std::vector<PairTask> tasks = read_pair_tasks(capture.reader, options.task);
  BlimpShared::Input input{
      .capture = std::move(capture), .tasks = std::move(tasks), .identity = {}};
  input.identity = pairs_identity(input.capture.reader, input.tasks);
  if (options.zero_shot) {
    std::tie(input.ties, input.preset) = zero_shot_preset(input.capture.reader);
  }
  return input;
}

void check_presets(const std::vector<BlimpShared::Input>& inputs) {
  for (const BlimpShared::Input& input : inputs) {
    if (input.preset == inputs.front().preset) continue;
    throw InvalidArgument(
        "blimp: all captures must use the same preset, '{}' uses {} and '{}' uses {}; capture one "
        "of them again with --blimp-preset",
        inputs.front().capture.reader.path().string(), inputs.front().preset,
        input.capture.reader.path().string(), input.preset);
  }
}

/// Adds the columns of an accuracy: those of lm-evaluation-harness, and an interval.
void set_accuracy(ResultRow& row, const PairAccuracy& accuracy) {
  row.add({{col::kMean, accuracy.accuracy},
           {col::kStd, std::sqrt(accuracy.accuracy * (1.0 - accuracy.accuracy))},
           {col::kCiLow, accuracy.ci_low},
           {col::kCiHigh, accuracy.ci_high},
           {col::kN, accuracy.num_pairs},
           {col::kStderr, accuracy.standard_error},
           {col::kTies, accuracy.num_ties}});
}

void add_group_columns(ResultRow& row, const TaskGroup& group,
                       const std::vector<PairAccuracy>& accuracies) {
  std::vector<PairAccuracy> members;
  std::int64_t ties = 0;
  for (const std::size_t t : group.members) {
    members.push_back(accuracies[t]);
    ties += accuracies[t].num_ties;
  }
  row.set(col::kStderr, pooled_standard_error(members)).set(col::kTies, ties);
}

UnitResult measure_zero_shot(const BlimpShared& shared, std::size_t index) {
  const BlimpShared::Input& input = shared.inputs[index];
  std::vector<PairAccuracy> accuracies;
  std::vector<TaskOutcome> outcomes;
  std::vector<std::vector<double>> values;
  std::vector<ResultRow> task_rows;
  for (const PairTask& task : input.tasks) {
    const PairScores scores = scores_of(input.capture.reader, task);
    const std::vector<PairOutcome> compared = compare_pairs(scores.good, scores.bad);
    const PairAccuracy& accuracy = accuracies.emplace_back(
        pair_accuracy(compared, input.ties, shared.options.summary.confidence));
    outcomes.push_back({.accuracy = accuracy.accuracy,
                        .pairs = accuracy.num_pairs,
                        .interval = {{accuracy.ci_low, accuracy.ci_high}}});
    std::vector<double>& task_values = values.emplace_back();
    for (const PairOutcome outcome : compared) {
      const bool is_correct = outcome == PairOutcome::kCorrect ||
                              (outcome == PairOutcome::kTie && input.ties == TieRule::kCorrect);
      task_values.push_back(is_correct ? 1.0 : 0.0);
    }
    set_accuracy(task_rows.emplace_back(task_row(task)), accuracy);
  }
  UnitResult result;
  const std::vector<TaskGroup> groups = task_groups(input.tasks);
  result.rows = group_rows(groups, outcomes, shared.options.summary);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    add_group_columns(result.rows[i], groups[i], accuracies);
  }
  result.rows.insert(result.rows.end(), task_rows.begin(), task_rows.end());
  for (ResultRow& row : result.rows) row.set(col::kPreset, input.preset);
  result.samples.push_back(pair_samples(values, input.identity));
  return result;
}

Unit zero_shot_unit(const std::shared_ptr<const BlimpShared>& shared, std::size_t index) {
  const BlimpShared::Input& input = shared->inputs[index];
  Unit unit;
  unit.key.set(col::kLabel, input.capture.label);
  unit.where = "'" + input.capture.reader.path().string() + "'";
  unit.work = std::ssize(input.tasks);
  unit.identity = input.identity;
  unit.bytes = count_pairs(input.tasks) * 64 + summary_bytes(1, shared->options.summary);
  unit.measure = [shared, index](const UnitContext&) { return measure_zero_shot(*shared, index); };
  return unit;
}

}  // namespace

void BlimpOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip_outliers(list);
  list.add("task", task,
           "tasks by UID, or lime-paper for the ten tasks of the LIMe paper; default: all");
  list.add("zero_shot", zero_shot,
           "compare the model's log-likelihoods instead of fitting probes; needs captures with "
           "--log-likelihood");
  list.add("by", by,
           "grouping of the printed table and of LaTeX output; layer: probes only, a row per layer "
           "and a "
           "column per site and model");
  list.add("judgements", judgements, "write every single prediction to this file (JSON Lines)")
      .role = OptionRole::kOutput;
  list.group("Probes");
  list.add("folds", folds, "number of cross-validation folds, pairs kept together, >= 2");
  probe.describe(list);
  list.add("control", control,
           "also probe with the two labels of every pair in random order, a chance baseline");
  list.group("Interval");
  list.add("bootstrap", summary.resamples,
           "bootstrap resamples over tasks for the intervals of the mean, 100 to 10000000; 0: no "
           "interval");
  list.add("confidence", summary.confidence, "confidence level of the intervals, in (0, 1)");
}

void BlimpOptions::validate() const {
  captures.validate();
  probe.validate();
  check_option(folds >= 2, "folds", ">= 2", folds);
  summary.validate("bootstrap");
  if (!all_distinct(task)) throw InvalidArgument(OptionName("task"), "every name must be unique");
  if (!zero_shot) return;
  throw_if(!captures.layer.is_all() || !captures.site.empty(), OptionName("zero_shot"),
           "scores the whole model; omit --layer and --site");
  throw_if(by == BlimpBreakdown::kLayer, OptionName("by"),
           "layer requires probes; select another grouping or omit --zero-shot");
  if (control)
    throw InvalidArgument(OptionName("control"), "requires probes; omit --control or --zero-shot");
}

Analysis prepare_blimp(const BlimpOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<BlimpShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->options.probe.seed = run.seed;
  std::vector<ChosenCapture> captures = open_captures(options.captures);
  Analysis analysis = analysis_of("blimp", options, captures);
  analysis.threads = UnitThreads::kInside;
  for (ChosenCapture& capture : captures) {
    shared->inputs.push_back(open_input(std::move(capture), options));
  }
  check_presets(shared->inputs);
  for (std::size_t i = 0; i < shared->inputs.size(); ++i) {
    if (options.zero_shot) {
      analysis.units.push_back(zero_shot_unit(shared, i));
      continue;
    }
    for (Unit& unit : probe_units(shared, i)) analysis.units.push_back(std::move(unit));
  }
  // Opened now, so that a wrong path fails before the run.
  std::shared_ptr<AtomicFile> file;
  if (!options.judgements.empty()) file = std::make_shared<AtomicFile>(options.judgements);
  std::vector<ResultRow> keys;
  for (const Unit& unit : analysis.units) keys.push_back(unit.key);
  analysis.present = [shared, file, keys](Report& report, std::span<const UnitResult> units) {
    if (file != nullptr) write_judgements(*file, *shared, keys, units);
    fill_blimp_report(report, *shared);
  };
  return analysis;
}

}  // namespace lime
