// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_analysis.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "analysis/blimp/blimp_judgements.h"
#include "analysis/blimp/blimp_probes.h"
#include "analysis/blimp/blimp_report.h"
#include "analysis/blimp/blimp_rows.h"
#include "analysis/blimp/blimp_zero_shot.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"

namespace lime {
namespace {

/// Opens the pairs of a capture and determines how they are scored.
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

/// Refuses to mix accuracies of different presets in one table.
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

}  // namespace

void BlimpOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("task", task,
           "tasks by UID, or lime-paper for the ten tasks of the LIMe paper; default: all");
  list.add("zero_shot", zero_shot,
           "compare the model's log-likelihoods instead of fitting probes; needs captures with "
           "--log-likelihood");
  list.add("by", by, "grouping of the printed table and of LaTeX output");
  list.add("judgements", judgements, "write every single prediction to this file (JSON Lines)")
      .is_output = true;
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
  if (folds < 2) throw InvalidArgument("folds: must be >= 2, got {}", folds);
  summary.validate("bootstrap");
  if (std::set<std::string>(task.begin(), task.end()).size() != task.size()) {
    throw InvalidArgument("task: every name must be unique");
  }
  if (!zero_shot) return;
  if (!captures.layer.is_all() || !captures.site.empty()) {
    throw InvalidArgument("zero_shot: scores the whole model; omit --layer and --site");
  }
  if (control) throw InvalidArgument("control: requires probes; omit --control or --zero-shot");
}

Analysis prepare_blimp(const BlimpOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<BlimpShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->options.probe.seed = run.seed;
  std::vector<ChosenCapture> captures = open_captures(options.captures);
  Analysis analysis;
  analysis.metric = "blimp";
  analysis.options = stored_options(options);
  analysis.inputs = capture_inputs(captures);
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
