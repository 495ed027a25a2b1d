// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_zero_shot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/blimp/blimp_rows.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

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

/// Ties and pooled standard error of the tasks of a group.
void add_group_columns(ResultRow& row, const std::vector<PairTask>& tasks,
                       const std::vector<PairAccuracy>& accuracies) {
  const std::string& level = row.text(col::kLevel);
  const std::string& name = row.text(col::kName);
  std::vector<PairAccuracy> members;
  std::int64_t ties = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const bool is_member = level == "all" || (level == "field" && tasks[t].field == name) ||
                           (level == "linguistics_term" && tasks[t].term == name);
    if (!is_member) continue;
    members.push_back(accuracies[t]);
    ties += accuracies[t].num_ties;
  }
  row.set(col::kStderr, pooled_standard_error(members));
  row.set(col::kTies, ties);
}

UnitResult measure(const BlimpShared& shared, std::size_t index) {
  const BlimpShared::Input& input = shared.inputs[index];
  std::vector<PairAccuracy> accuracies;
  std::vector<TaskOutcome> outcomes;
  std::vector<std::vector<double>> values;
  std::vector<ResultRow> task_rows;
  for (const PairTask& task : input.tasks) {
    const PairScores scores = scores_of(input.capture.reader, task);
    const std::vector<PairOutcome> compared = compare_pairs(scores.good, scores.bad);
    accuracies.push_back(pair_accuracy(compared, input.ties, shared.options.summary.confidence));
    const PairAccuracy& accuracy = accuracies.back();
    outcomes.push_back({.accuracy = accuracy.accuracy,
                        .pairs = accuracy.num_pairs,
                        .interval = {{accuracy.ci_low, accuracy.ci_high}}});
    std::vector<double>& task_values = values.emplace_back();
    for (const PairOutcome outcome : compared) {
      const bool is_correct = outcome == PairOutcome::kCorrect ||
                              (outcome == PairOutcome::kTie && input.ties == TieRule::kCorrect);
      task_values.push_back(is_correct ? 1.0 : 0.0);
    }
    task_rows.push_back(task_row(task));
    set_accuracy(task_rows.back(), accuracies.back());
  }
  UnitResult result;
  result.rows = group_rows(input.tasks, outcomes, shared.options.summary);
  for (ResultRow& row : result.rows) add_group_columns(row, input.tasks, accuracies);
  result.rows.insert(result.rows.end(), task_rows.begin(), task_rows.end());
  for (ResultRow& row : result.rows) row.set(col::kPreset, input.preset);
  result.samples.push_back(pair_samples(values, input.identity));
  return result;
}

}  // namespace

std::pair<TieRule, std::string> zero_shot_preset(const CaptureReader& capture) {
  const Json& options = capture.info().options;
  const std::vector<Sequence>& sequences = capture.sequences();
  const bool is_scored = std::any_of(sequences.begin(), sequences.end(),
                                     [](const Sequence& sequence) { return sequence.is_scored(); });
  if (!is_scored) {
    throw InvalidArgument(
        "'{}': contains no log-likelihoods; capture the pairs with lime-capture --log-likelihood",
        capture.path().string());
  }
  const bool is_named = options.contains("blimp_preset") && options["blimp_preset"].is_string();
  const std::string preset = is_named ? options["blimp_preset"].get<std::string>() : "";
  if (preset == "lm-eval") return {TieRule::kCorrect, preset};
  if (preset == "blimp-paper") return {TieRule::kIncorrect, preset};
  throw FormatError("'{}': blimp_preset must be lm-eval or blimp-paper, got '{}'",
                    capture.path().string(), printable(preset));
}

PairScores scores_of(const CaptureReader& capture, const PairTask& task) {
  const std::vector<Sequence>& sequences = capture.sequences();
  const auto score = [&](const SentencePair& pair, std::int64_t s) {
    const double value = sequences[static_cast<std::size_t>(s)].log_likelihood;
    if (std::isfinite(value)) return value;
    throw InvalidArgument(
        "log-likelihoods must be finite, got {} for sequence {} (task '{}', pair {}: '{}')", value,
        s, task.name, pair.number, printable(sequences[static_cast<std::size_t>(s)].text));
  };
  PairScores scores;
  for (const SentencePair& pair : task.pairs) {
    scores.good.push_back(score(pair, pair.good));
    scores.bad.push_back(score(pair, pair.bad));
  }
  return scores;
}

Unit zero_shot_unit(const std::shared_ptr<const BlimpShared>& shared, std::size_t index) {
  const BlimpShared::Input& input = shared->inputs[index];
  Unit unit;
  unit.key.set(col::kLabel, input.capture.label);
  unit.where = "'" + input.capture.reader.path().string() + "'";
  unit.work = static_cast<std::int64_t>(input.tasks.size());
  unit.identity = input.identity;
  unit.bytes = count_pairs(input.tasks) * 64 + summary_bytes(1, shared->options.summary);
  unit.measure = [shared, index](const UnitContext&) { return measure(*shared, index); };
  return unit;
}

}  // namespace lime
