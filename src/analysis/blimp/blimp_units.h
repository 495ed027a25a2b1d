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

/// What the units of one analysis share.
struct BlimpShared {
  /// One capture with its pairs.
  struct Input {
    ChosenCapture capture;
    std::vector<PairTask> tasks;
    std::string identity;            ///< of the pairs
    TieRule ties = TieRule::kRight;  ///< zero-shot
    std::string preset = {};         ///< zero-shot: how sentences were put before the model
  };
  BlimpOptions options;  ///< with the seed of folds and intervals
  std::vector<Input> inputs;
};

/// What a task came to, for the rows of the groups that it is in.
struct TaskOutcome {
  double accuracy = 0.0;
  std::int64_t pairs = 0;
  std::optional<double> control = std::nullopt;  ///< accuracy on labels at random
  /// Interval of the accuracy over the task's pairs, low and high, where it has one.
  std::optional<std::pair<double, double>> interval = std::nullopt;
};

/// Rows of all tasks together and of each linguistics_term and field: unweighted means over tasks,
/// standard deviation (ddof 0) and bootstrap interval over tasks; a group of one task has the
/// interval of that task.
std::vector<Json> group_rows(const std::vector<PairTask>& tasks,
                             const std::vector<TaskOutcome>& outcomes,
                             const SummaryOptions& summary);

/// First columns of the row of a task.
Json task_row(const PairTask& task);

/// The values of all pairs as one sample whose mean is the unweighted mean over tasks, also where
/// tasks differ in size.
/// @param values  [task][pair]
Samples pair_samples(const std::vector<std::vector<double>>& values, const std::string& identity);

/// Pairs of all tasks.
std::int64_t count_pairs(const std::vector<PairTask>& tasks);

/// Units of the probes, one per site and layer of input `index`. Refuses rows that are not pooled
/// and tasks with fewer pairs than folds.
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

/// Name of the matrix in which a unit of probes keeps what it judged right, [pairs, 2]: 1 where the
/// good, the bad sentence was told right.
inline constexpr const char* kJudgementsMatrix = "judgements";

/// The unit of the model's own judgement of input `index`. Refuses captures without scores.
Unit zero_shot_unit(const std::shared_ptr<const BlimpShared>& shared, std::size_t index);

/// How ties count in a capture, and the name of its preset.
/// @throws InvalidArgument  if it has no scores of pairs.
std::pair<TieRule, std::string> zero_shot_preset(const CaptureReader& capture);

/// Log-likelihoods of the good and of the bad sentences of a task.
struct PairScores {
  std::vector<double> good;
  std::vector<double> bad;
};
PairScores scores_of(const CaptureReader& capture, const PairTask& task);

}  // namespace lime
