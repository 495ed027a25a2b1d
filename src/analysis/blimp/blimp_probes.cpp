// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_probes.h"

#include "analysis/engine/capture_rows.h"
#include "core/random.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// The rows of one task: those of pair i are 2 i (good) and 2 i + 1 (bad).
struct TaskRows {
  MatrixF rows;
  std::vector<int> classes;  ///< 1 good, 0 bad
  std::vector<int> pairs;
};

std::vector<std::int64_t> sequences_of(const PairTask& task) {
  std::vector<std::int64_t> sequences;
  for (const SentencePair& pair : task.pairs) {
    sequences.push_back(pair.good);
    sequences.push_back(pair.bad);
  }
  return sequences;
}

void check_finite(const MatrixF& rows, const PairTask& task, const CaptureReader& capture) {
  const auto place = first_not_finite(rows);
  if (!place) return;
  const auto [row, column] = *place;
  const std::int64_t sequence = sequences_of(task)[static_cast<std::size_t>(row)];
  throw InvalidArgument(
      "rows must be finite, got {} in dimension {} of sequence {} (task '{}', pair {}: '{}'); "
      "check the model's weights, or omit the task with --task",
      rows(row, column), column, sequence, task.name,
      task.pairs[static_cast<std::size_t>(row / 2)].number,
      printable(capture.sequences()[static_cast<std::size_t>(sequence)].text));
}

/// Reads the rows of a task, neighbours at once.
TaskRows read_task(const CaptureReader& capture, const std::string& site, int layer,
                   const PairTask& task) {
  const std::vector<std::int64_t> sequences = sequences_of(task);
  const std::int64_t dim = capture.dim(site, layer);
  TaskRows result;
  result.rows.resize(static_cast<Eigen::Index>(sequences.size()), dim);
  for (std::size_t i = 0; i < sequences.size();) {
    std::size_t end = i + 1;
    while (end < sequences.size() && sequences[end] == sequences[end - 1] + 1) ++end;
    const std::int64_t first = capture.offsets()[static_cast<std::size_t>(sequences[i])];
    const auto count = static_cast<std::int64_t>(end - i);
    capture.read_rows(site, layer, first, count,
                      std::span(result.rows.row(static_cast<Eigen::Index>(i)).data(),
                                static_cast<std::size_t>(count * dim)));
    i = end;
  }
  check_finite(result.rows, task, capture);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    result.classes.push_back(i % 2 == 0 ? 1 : 0);
    result.pairs.push_back(static_cast<int>(i / 2));
  }
  return result;
}

/// Swaps the labels of half of the pairs, as chance has it.
std::vector<int> swapped_labels(const TaskRows& task, std::uint64_t seed) {
  std::vector<int> labels = task.classes;
  Random random(seed);
  for (std::size_t pair = 0; pair < labels.size() / 2; ++pair) {
    if (random.below(2) == 1) std::swap(labels[2 * pair], labels[2 * pair + 1]);
  }
  return labels;
}

TaskProbe probe_task(const TaskRows& task, const BlimpOptions& options,
                     const std::stop_token& stop) {
  const Folds folds = make_folds(
      task.classes, task.pairs,
      {.kind = FoldKind::kGrouped, .num_folds = options.folds, .seed = options.probe.seed});
  const ProbeData data{
      .rows = task.rows, .classes = task.classes, .num_classes = 2, .groups = task.pairs};
  ThreadPool alone(1);
  if (!options.control) return {cross_validate(data, folds, options.probe, alone, stop)};
  const std::vector<std::vector<int>> labels = {task.classes,
                                                swapped_labels(task, options.probe.seed)};
  std::vector<ProbeResult> results =
      cross_validate_labels(data, labels, folds, options.probe, {alone, stop});
  return {std::move(results[0]), std::move(results[1])};
}

double fold_mean(const ProbeResult& probe, double ProbeFold::*member) {
  double sum = 0.0;
  for (const ProbeFold& fold : probe.folds) sum += fold.*member;
  return sum / static_cast<double>(probe.folds.size());
}

ResultRow probe_row(const PairTask& task, const TaskProbe& probe) {
  ResultRow row = task_row(task);
  const Summary accuracy = summarize(probe.real.accuracies(), {.resamples = 0});
  row.add({{col::kMean, accuracy.mean},
           {col::kStd, accuracy.std},
           {col::kN, accuracy.n},
           {col::kLogLoss, fold_mean(probe.real, &ProbeFold::log_loss)},
           {col::kTrainAccuracy, fold_mean(probe.real, &ProbeFold::train_accuracy)}});
  if (probe.control) row.set(col::kControl, mean_of(probe.control->accuracies()));
  return row.set(col::kGradientNorm, probe.real.largest_gradient_norm())
      .set(col::kConverged, probe.real.converged());
}

UnitResult result_of(const BlimpShared& shared, const BlimpShared::Input& input,
                     const std::vector<TaskProbe>& probes) {
  std::vector<ResultRow> rows;
  std::vector<TaskOutcome> outcomes;
  std::vector<std::vector<double>> values;
  MatrixD judgements(count_pairs(input.tasks), 2);
  Eigen::Index place = 0;
  for (std::size_t t = 0; t < probes.size(); ++t) {
    rows.push_back(probe_row(input.tasks[t], probes[t]));
    TaskOutcome& outcome = outcomes.emplace_back();
    outcome.accuracy = rows.back().number(col::kMean);
    outcome.pairs = std::ssize(input.tasks[t].pairs);
    if (probes[t].control) outcome.control = rows.back().number(col::kControl);
    const std::vector<int>& predictions = probes[t].real.predictions;
    std::vector<double>& task_values = values.emplace_back();
    for (std::size_t pair = 0; pair < input.tasks[t].pairs.size(); ++pair, ++place) {
      judgements(place, 0) = predictions[2 * pair] == 1 ? 1.0 : 0.0;
      judgements(place, 1) = predictions[2 * pair + 1] == 0 ? 1.0 : 0.0;
      task_values.push_back(0.5 * (judgements(place, 0) + judgements(place, 1)));
    }
  }
  UnitResult result;
  result.rows = group_rows(task_groups(input.tasks), outcomes, shared.options.summary);
  result.rows.insert(result.rows.end(), rows.begin(), rows.end());
  result.samples.push_back(pair_samples(values, input.identity));
  if (!shared.options.judgements.empty()) {
    result.matrices.push_back({"judgements", std::move(judgements)});
  }
  return result;
}

/// Rows as they are read and as the solver holds them, and a Gram matrix on the smaller side.
std::int64_t bytes_per_task(const BlimpShared::Input& input, std::int64_t dim) {
  std::int64_t rows = 0;
  for (const PairTask& task : input.tasks) {
    rows = std::max(rows, static_cast<std::int64_t>(2 * task.pairs.size()));
  }
  const std::int64_t smaller = std::min(rows, dim);
  constexpr std::int64_t kTables = std::int64_t{4} << 20;
  return rows * dim * 12 + 3 * smaller * smaller * 8 + kTables;
}

}  // namespace

std::vector<TaskProbe> probe_pairs(const CaptureReader& capture, const std::string& site, int layer,
                                   const std::vector<PairTask>& tasks, const BlimpOptions& options,
                                   const UnitContext& context) {
  std::vector<TaskProbe> probes(tasks.size());
  std::mutex mutex;
  Progress progress{0, std::ssize(probes), ""};
  context.pool.parallel_for(
      std::ssize(probes),
      [&](std::int64_t t) {
        const auto place = static_cast<std::size_t>(t);
        probes[place] =
            probe_task(read_task(capture, site, layer, tasks[place]), options, context.stop);
        const std::scoped_lock lock(mutex);
        ++progress.done;
        if (context.on_progress) context.on_progress(progress);
      },
      context.stop);
  return probes;
}

void check_probed_pairs(const CaptureReader& capture, const std::vector<PairTask>& tasks,
                        int folds) {
  throw_if(capture.sites().empty(),
           "'{}': contains no activations to probe; capture with --rows mean, or use --zero-shot",
           capture.path().string());
  throw_if(capture.info().rows == RowKind::kTokens,
           "'{}': contains one row per token, but probes need one row per sentence; capture again "
           "with --rows mean or --rows last",
           capture.path().string());
  for (const PairTask& task : tasks) {
    const std::int64_t pairs = std::ssize(task.pairs);
    if (pairs >= folds) continue;
    throw InvalidArgument(
        "'{}': task '{}' has {} pair{}, fewer than the {} folds; use fewer --folds or omit the "
        "task with --task",
        capture.path().string(), task.name, pairs, pairs == 1 ? "" : "s", folds);
  }
}

std::vector<Unit> probe_units(const std::shared_ptr<const BlimpShared>& shared, std::size_t index) {
  const BlimpShared::Input& input = shared->inputs[index];
  check_probed_pairs(input.capture.reader, input.tasks, shared->options.folds);
  return layer_units({&input.capture, 1}, [&](Unit& unit, const LayerPlace& place) {
    unit.work = std::ssize(input.tasks);
    unit.identity = input.identity;
    unit.bytes = count_pairs(input.tasks) * 32 + summary_bytes(1, shared->options.summary);
    unit.bytes_per_thread =
        bytes_per_task(input, input.capture.reader.dim(place.site, place.layer));
    unit.measure = [shared, &input, place](const UnitContext& context) {
      return result_of(*shared, input,
                       probe_pairs(input.capture.reader, place.site, place.layer, input.tasks,
                                   shared->options, context));
    };
  });
}

}  // namespace lime
