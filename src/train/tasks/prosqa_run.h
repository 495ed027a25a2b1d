// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stop_token>

#include "core/options.h"
#include "core/program/progress.h"
#include "train/tasks/sequence_task.h"
#include "train/training_run.h"

namespace lime {

struct ProsQaData {
  // Problems generated if no file is given, in [1, kMaxDrawnSamples]: as in the published files.
  std::int64_t train_problems = 17886;
  std::int64_t test_problems = 500;
  TaskFiles files = {};  ///< for read_prosqa(); not among the fields of describe()

  void describe(OptionList& list);
  void validate() const;
};

/// Trains a decoder to generate the proof and the answer of ProsQA questions, and evaluates it on
/// the test questions: TrainingOutcome::evaluation has `count`, `accuracy` (the answer is correct),
/// `proven` (the fraction whose steps also prove it) and `unanswered`.
///
/// A new model gets one token per word; a model initialised from a checkpoint keeps its tokenizer.
/// @throws InvalidArgument  if a question is longer than the model allows or has words that the
///         tokenizer does not contain, or if the two files share a question.
/// @throws FormatError      if a file has steps that do not prove the answer.
/// @throws as run_training(), read_prosqa()
TrainingOutcome train_on_prosqa(const ProsQaData& data, const TrainingSetup& setup,
                                const ProgressFn& on_progress = {}, std::stop_token stop = {});

}  // namespace lime
