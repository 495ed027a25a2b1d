// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp_analysis.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "analysis/blimp_judgements.h"
#include "analysis/blimp_report.h"
#include "analysis/blimp_units.h"
#include "core/atomic_file.h"
#include "core/errors.h"

namespace lime {
namespace {

/// Opens a capture's pairs and finds out how they are to be judged.
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

/// Accuracies of different ways of counting must not stand side by side unawares.
void check_presets(const std::vector<BlimpShared::Input>& inputs) {
  for (const BlimpShared::Input& input : inputs) {
    if (input.preset == inputs.front().preset) continue;
    throw InvalidArgument(
        "blimp: all captures must be of one preset, '{}' is of {} and '{}' of {}; capture one of "
        "them again with --blimp-preset",
        inputs.front().capture.reader.path().string(), inputs.front().preset,
        input.capture.reader.path().string(), input.preset);
  }
}

}  // namespace

void BlimpOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("task", task,
           "tasks by their UID, or lime-paper for the ten of the LIMe paper; all if not given");
  list.add("zero_shot", zero_shot,
           "the model's own judgement, from captures with --log-likelihood, instead of probes");
  list.add("by", by, "what the printed table and LaTeX are broken down by");
  list.add("judgements", judgements, "file for every single judgement, as JSON lines").is_output =
      true;
  list.group("Probes");
  list.add("folds", folds, "folds of whole pairs, >= 2");
  probe.describe(list);
  list.add("control", control,
           "also probe labels of which every pair has its two at random: what is left is chance");
  list.group("Interval");
  list.add(
      "bootstrap", summary.resamples,
      "resamples of tasks behind the intervals of their mean, 100 to 10000000; 0: no interval");
  list.add("confidence", summary.confidence,
           "probability that an interval is meant to cover, in (0, 1)");
}

void BlimpOptions::validate() const {
  captures.validate();
  probe.validate();
  if (folds < 2) throw InvalidArgument("folds: must be >= 2, got {}", folds);
  summary.validate("bootstrap");
  if (std::set<std::string>(task.begin(), task.end()).size() != task.size()) {
    throw InvalidArgument("task: each must be named once");
  }
  if (!zero_shot) return;
  if (!captures.layer.is_all() || !captures.site.empty()) {
    throw InvalidArgument(
        "zero_shot: is the judgement of the whole model; leave --layer and --site out");
  }
  if (control) throw InvalidArgument("control: is about probes; leave it or --zero-shot out");
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
  // Opened now, so that a wrong path does not cost the whole run.
  std::shared_ptr<AtomicFile> file;
  if (!options.judgements.empty()) file = std::make_shared<AtomicFile>(options.judgements);
  std::vector<Json> keys;
  for (const Unit& unit : analysis.units) keys.push_back(unit.key);
  analysis.present = [shared, file, keys](Results results, std::span<const UnitResult> units) {
    if (file != nullptr) write_judgements(*file, *shared, keys, units);
    return make_blimp_report(std::move(results), *shared);
  };
  return analysis;
}

}  // namespace lime
