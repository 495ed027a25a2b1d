// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to the BLiMP analysis: the rows that both kinds of units make, and the report.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/blimp/blimp_analysis.h"
#include "analysis/blimp/pair_tasks.h"
#include "core/files/atomic_file.h"
#include "metrics/comparison/minimal_pairs.h"
#include "metrics/summary.h"

namespace lime {

struct BlimpShared {
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

/// Returns a row per group of task_groups(): unweighted means over tasks, standard deviation (ddof
/// 0) and bootstrap interval over tasks; a group of one task has the interval of that task.
std::vector<ResultRow> group_rows(const std::vector<TaskGroup>& groups,
                                  const std::vector<TaskOutcome>& outcomes,
                                  const SummaryOptions& summary);

/// Returns the first columns of the row of a task.
ResultRow task_row(const PairTask& task);

/// Returns the values of all pairs, [task][pair], as one sample, whose mean is that over tasks.
Samples pair_samples(const std::vector<std::vector<double>>& values, const std::string& identity);

std::int64_t count_pairs(const std::vector<PairTask>& tasks);

/// Writes every judgement as a line of JSON and commits the file (docs/blimp.md, "Judgements").
/// @param keys, units  of the analysis, in their order
void write_judgements(AtomicFile& file, const BlimpShared& shared,
                      const std::vector<ResultRow>& keys, std::span<const UnitResult> units);

/// Fills the report: in a terminal accuracies by layer and the breakdown; in LaTeX a row per model
/// and site, or with `by` layer the layout of the paper's Table 2.
void fill_blimp_report(Report& report, const BlimpShared& shared);

}  // namespace lime
