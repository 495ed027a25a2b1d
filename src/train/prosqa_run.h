// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stop_token>

#include "core/options.h"
#include "core/progress.h"
#include "train/task_files.h"
#include "train/training_run.h"
#include "train/training_setup.h"

namespace lime {

/// The questions of a run on ProsQA.
struct ProsQaData {
  /// Problems drawn for training where no file is given, in [1, kMostDrawnSamples]; the number of
  /// the published training file.
  std::int64_t train_problems = 17886;
  /// Problems drawn for the test where no file is given, in the same range; the number of the
  /// published file.
  std::int64_t test_problems = 500;
  /// Files of the data set's form, see read_prosqa(); not among the fields of describe().
  TaskFiles files = {};

  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// Trains a decoder to write the proof and the answer of ProsQA's questions, and lets it answer the
/// test questions: TrainingOutcome::evaluation has `count`, `accuracy` (the answer is right),
/// `proven` (share whose steps prove it as well) and `unanswered`.
///
/// A new model gets one token per word; a model that goes on from a checkpoint keeps its tokenizer.
/// @throws InvalidArgument  if a question is longer than the model allows or has words that the
///                          tokenizer does not know, or if the two files share a question.
/// @throws FormatError      if a file has steps that do not prove the answer.
/// @throws as run_training(), read_prosqa()
TrainingOutcome train_on_prosqa(const ProsQaData& data, const TrainingSetup& setup,
                                const ProgressFn& on_progress = {}, std::stop_token stop = {});

}  // namespace lime
