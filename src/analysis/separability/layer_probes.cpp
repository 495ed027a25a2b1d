// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/layer_probes.h"

#include <cmath>
#include <iterator>

#include "analysis/blimp/blimp_probes.h"

namespace lime {
namespace {

std::vector<std::string> names_of(const SeparabilityTask& task) {
  std::vector<std::string> names(static_cast<std::size_t>(task.num_classes));
  for (std::size_t i = 0; i < task.classes.size(); ++i) {
    names[static_cast<std::size_t>(task.classes[i])] =
        task.rows.class_names[static_cast<std::size_t>(task.rows.class_id[i])];
  }
  return names;
}

double probability(const ProbeResult& probe, std::size_t row, int class_number) {
  return std::exp(
      static_cast<double>(probe.log_probabilities(static_cast<Eigen::Index>(row), class_number)));
}

std::vector<PairPrediction> predictions_of(const PairTask& task, std::size_t number,
                                           const ProbeResult& probe) {
  std::vector<PairPrediction> predictions;
  for (std::size_t i = 0; i < task.pairs.size(); ++i) {
    predictions.push_back({.task = number,
                           .pair = task.pairs[i],
                           .good_probability = probability(probe, 2 * i, 1),
                           .bad_probability = probability(probe, 2 * i + 1, 1),
                           .good_is_correct = probe.predictions[2 * i] == 1,
                           .bad_is_correct = probe.predictions[2 * i + 1] == 0});
  }
  return predictions;
}

}  // namespace

TokenProbe probe_tokens_of_layer(const CaptureReader& capture, const std::string& site, int layer,
                                 const SeparabilityOptions& options, ThreadPool& pool,
                                 std::stop_token stop) {
  SeparabilityOptions words = options;
  words.control.clear();
  words.validate();
  const SeparabilityTask task = make_separability_task(capture, words);
  const MatrixF rows = read_class_rows(capture, site, layer, task.rows);
  words.probe.seed = words.random_state;
  ProbeData data{rows, task.classes, task.num_classes};
  if (words.group == ProbeGroup::kSequence) data.groups = task.sequences;
  const ProbeResult probe = cross_validate(data, task.folds, words.probe, pool, stop);
  TokenProbe result;
  result.site = site;
  result.layer = layer;
  result.class_names = names_of(task);
  result.confusion = probe.confusion();
  result.accuracies = probe.accuracies();
  for (std::size_t i = 0; i < task.classes.size(); ++i) {
    result.predictions.push_back(
        {.row = task.rows.row[i],
         .truth = task.classes[i],
         .predicted = probe.predictions[i],
         .truth_probability = probability(probe, i, task.classes[i]),
         .predicted_probability = probability(probe, i, probe.predictions[i])});
  }
  return result;
}

PairProbes probe_pairs_of_layer(const CaptureReader& capture, const std::string& site, int layer,
                                const BlimpOptions& options, ThreadPool& pool,
                                const ProgressFn& on_progress, std::stop_token stop) {
  options.validate();
  const std::vector<PairTask> tasks = read_pair_tasks(capture, options.task);
  check_probed_pairs(capture, tasks, options.folds);
  BlimpOptions real = options;
  real.control = false;
  const std::vector<TaskProbe> probes =
      probe_pairs(capture, site, layer, tasks, real, {pool, on_progress, std::move(stop)});
  PairProbes result;
  result.site = site;
  result.layer = layer;
  result.confusion = Eigen::MatrixXi::Zero(2, 2);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    result.tasks.push_back(tasks[t].name);
    result.confusion += probes[t].real.confusion();
    result.accuracies.push_back(mean_of(probes[t].real.accuracies()));
    std::ranges::move(predictions_of(tasks[t], t, probes[t].real),
                      std::back_inserter(result.predictions));
  }
  return result;
}

}  // namespace lime
