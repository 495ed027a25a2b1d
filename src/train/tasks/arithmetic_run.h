// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stop_token>

#include "core/options.h"
#include "core/program/progress.h"
#include "train/tasks/arithmetic_task.h"
#include "train/tasks/sequence_task.h"
#include "train/training_run.h"

namespace lime {

enum class LossOn {
  kSolution,  ///< those after the first `=`
  kAll,       ///< the expression too, which is random
};

constexpr auto names_of(LossOn) {
  using enum LossOn;
  return enum_table<LossOn>({{kSolution, "solution"}, {kAll, "all"}});
}

/// The expressions of a run on the Arithmetic Expression Task, generated or read from files.
struct ArithmeticData {
  ArithmeticTaskOptions task;
  // Distinct expressions per number of operands, in [1, kMaxDrawnSamples].
  std::int64_t train_samples = 50000;  ///< the paper's number
  std::int64_t test_samples = 1000;
  LossOn loss_on = LossOn::kSolution;
  TaskFiles files = {};  ///< for read_expressions(); not among the fields of describe()

  void describe(OptionList& list);
  void validate() const;
};

/// Generates the expressions, or reads them if `data.files` names files, trains a decoder on their
/// solutions and measures its accuracy on held-out expressions: TrainingOutcome::evaluation has one
/// object per number of operands, with `operands`, `accuracy`, `count`, `correct`, `exact` (every
/// step) and `unfinished`. A model initialised from a checkpoint keeps its tokenizer.
/// @throws InvalidArgument  if the two files share an expression, or the checkpoint's tokenizer
///         maps the words of the expressions to other ids.
/// @throws as run_training() and read_expressions().
TrainingOutcome train_on_arithmetic(const ArithmeticData& data, const TrainingSetup& setup,
                                    const ProgressFn& on_progress = {}, std::stop_token stop = {});

}  // namespace lime
