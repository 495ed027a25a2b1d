// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_analysis.h"

#include <memory>
#include <utility>

#include "analysis/separability/separability_layer.h"
#include "analysis/separability/separability_report.h"
#include "analysis/separability/separability_task.h"

namespace lime {
namespace {

struct Shared {
  SeparabilityOptions options;
  std::uint64_t seed = 0;
  std::vector<ChosenCapture> captures;
  std::vector<SeparabilityTask> tasks;  ///< one per capture
};

Unit make_unit(const std::shared_ptr<const Shared>& shared, std::size_t index,
               const std::string& site, int layer) {
  const ChosenCapture& capture = shared->captures[index];
  const SeparabilityTask& task = shared->tasks[index];
  Unit unit = layer_unit(capture, site, layer);
  unit.identity = task.identity;
  unit.bytes = bytes_of_layer(task, shared->options, capture.reader.dim(site, layer));
  unit.measure = [shared, &capture, &task, site, layer](const UnitContext& context) {
    const MatrixF rows = read_task_rows(capture.reader, task, site, layer);
    return probe_layer(task, shared->options, shared->seed, rows, context);
  };
  return unit;
}

}  // namespace

Analysis prepare_separability(const SeparabilityOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    shared->tasks.push_back(make_separability_task(capture.reader, options));
  }
  Analysis analysis;
  analysis.metric = "separability";
  analysis.options = stored_options(options);
  analysis.inputs = capture_inputs(shared->captures);
  for (std::size_t i = 0; i < shared->captures.size(); ++i) {
    for (const auto& [site, layers] : shared->captures[i].parts) {
      for (const int layer : layers) analysis.units.push_back(make_unit(shared, i, site, layer));
    }
  }
  // A thread per layer wastes none where there are layers enough.
  const bool many = analysis.units.size() >= static_cast<std::size_t>(run.num_threads());
  analysis.threads = many ? UnitThreads::kAcross : UnitThreads::kInside;
  analysis.present = [shared](Report& report, std::span<const UnitResult>) {
    std::vector<ClassRows> chosen;
    for (const SeparabilityTask& task : shared->tasks) chosen.push_back(task.rows);
    fill_separability_report(report, shared->captures, chosen, shared->options);
  };
  return analysis;
}

}  // namespace lime
