// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to the BLiMP analysis: its two kinds of units, and the rows that both make.

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "analysis/blimp/blimp_analysis.h"
#include "analysis/blimp/pair_tasks.h"
#include "metrics/pairs/minimal_pairs.h"

namespace lime {

/// State shared by the units of one analysis.
struct BlimpShared {
  /// One capture with its pairs.
  struct Input {
    ChosenCapture capture;
    std::vector<PairTask> tasks;
    std::string identity;              ///< of the pairs
    TieRule ties = TieRule::kCorrect;  ///< zero-shot
    std::string preset = {};           ///< zero-shot: how sentences were presented to the model
  };
  BlimpOptions options;  ///< with the seed of folds and intervals
  std::vector<Input> inputs;
};

/// Result of a task, used by the rows of its groups.
struct TaskOutcome {
  double accuracy = 0.0;
  std::int64_t pairs = 0;
  std::optional<double> control = std::nullopt;  ///< accuracy on random labels
  /// Interval of the accuracy over the task's pairs, low and high, where it has one.
  std::optional<std::pair<double, double>> interval = std::nullopt;
};

/// Returns rows of all tasks together and of each linguistics_term and field: unweighted means over
/// tasks, standard deviation (ddof 0) and bootstrap interval over tasks; a group of one task has
/// the interval of that task.
std::vector<ResultRow> group_rows(const std::vector<PairTask>& tasks,
                                  const std::vector<TaskOutcome>& outcomes,
                                  const SummaryOptions& summary);

/// Returns the first columns of the row of a task.
ResultRow task_row(const PairTask& task);

/// Returns the values of all pairs as one sample. Its mean is the unweighted mean over tasks, even
/// if tasks differ in size.
/// @param values  [task][pair]
Samples pair_samples(const std::vector<std::vector<double>>& values, const std::string& identity);

/// Returns the number of pairs of all tasks.
std::int64_t count_pairs(const std::vector<PairTask>& tasks);

/// Returns the probe units, one per site and layer of input `index`. Refuses rows that are not
/// pooled and tasks with fewer pairs than folds.
std::vector<Unit> probe_units(const std::shared_ptr<const BlimpShared>& shared, std::size_t index);

/// Probes one task in one layer as the units do: rows 2 i and 2 i + 1 are the good and the bad
/// sentence of pair i, classes 1 and 0. Seeds are those of `options.probe`.
/// @throws InvalidArgument  if a value is not finite.
ProbeResult probe_pairs(const CaptureReader& capture, const std::string& site, int layer,
                        const PairTask& task, const BlimpOptions& options,
                        const std::stop_token& stop);

/// @throws InvalidArgument  unless rows are pooled, one per sentence.
void require_pooled_rows(const CaptureReader& capture);
/// @throws InvalidArgument  that names the first task with fewer pairs than folds.
void require_pairs_per_fold(const CaptureReader& capture, const std::vector<PairTask>& tasks,
                            int folds);

/// Name of the matrix in which a unit of probes stores its correct predictions, [pairs, 2]: 1 if
/// the good (bad) sentence was classified correctly.
inline constexpr const char* kJudgementsMatrix = "judgements";

/// Returns the zero-shot unit of input `index`. Refuses captures without scores.
Unit zero_shot_unit(const std::shared_ptr<const BlimpShared>& shared, std::size_t index);

/// Returns the tie rule of a capture and the name of its preset.
/// @throws InvalidArgument  if it has no scores of pairs.
std::pair<TieRule, std::string> zero_shot_preset(const CaptureReader& capture);

/// Returns the log-likelihoods of the good and the bad sentences of a task.
struct PairScores {
  std::vector<double> good;
  std::vector<double> bad;
};
PairScores scores_of(const CaptureReader& capture, const PairTask& task);

}  // namespace lime
