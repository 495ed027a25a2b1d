// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "core/json.h"
#include "core/options.h"
#include "core/progress.h"
#include "model/compute_type.h"
#include "train/trainer.h"

namespace lime {

/// Where a run is kept and how often.
struct TrainingRunOptions {
  /// Folder of the trained model; made if its parent exists.
  std::filesystem::path output;
  /// Goes on with the run that `output` holds; begins one if it holds neither run nor model.
  bool resume = false;
  /// Steps between two saved states, >= 1.
  std::int64_t save_every = 1000;
  /// Steps between two lines of the log, >= 1.
  std::int64_t log_every = 10;
  /// Steps between two measurements of the loss on held-out data, >= 1.
  std::int64_t validate_every = 500;
  /// Elements of model.safetensors, rounded from the float32 that training keeps. A finished run
  /// that is resumed with another type writes its model anew.
  ComputeType save_dtype = ComputeType::kFloat32;

  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// What is trained, on what.
struct TrainingJob {
  Decoder& decoder;
  BatchSource& data;
  BatchSource* validation = nullptr;  ///< held-out data; null for none
  TrainingOptions options;
  ComputeOptions compute;
  /// The other processes that train with this one; only the first of them writes. Null for none.
  ProcessGroup* group = nullptr;
  /// What must be the same for a run to be resumed, in groups, e.g. {"task": {...}, "data": {...}}.
  Json description;
  /// Other files of the checkpoint folder, by name: tokenizer.json, ...
  std::map<std::string, std::string> files;
  /// Measures the trained model; what it returns goes into the log. May be empty.
  std::function<Json(const ProgressFn&, std::stop_token)> evaluate;
};

struct TrainingOutcome {
  std::int64_t steps = 0;         ///< all steps of the run
  std::int64_t resumed_from = 0;  ///< steps that were there already
  std::optional<double> validation_loss;
  Json evaluation;       ///< null without TrainingJob::evaluate
  double seconds = 0.0;  ///< spent on the steps of this call, not on validation and saving
};

/// Trains to the end and leaves in `output`
///
///   config.json, model.safetensors, files   the model, as Hugging Face keeps it
///   training_state.safetensors              to go on: see training_state.h
///   training_options.json                   what was asked for
///   training_log.jsonl                      what happened: see train_log.h
///
/// Each file appears whole or not at all. State and model are saved every `save_every` steps, at
/// the end and when `stop` is requested. A resumed run takes the same steps, to the bit, as one
/// that was never stopped (on a CPU with the same number of threads).
///
/// @param on_progress  steps, then items of the evaluation; the note has loss, perplexity, learning
///                     rate, gradient norm and tokens per second.
/// @throws InvalidArgument  if `output` holds a run and `resume` is false, or one of another
///                          description (names the first difference), or a model without a state.
/// @throws NumericalError   if the loss, a gradient, or a weight or moment to be saved leaves the
///                          finite numbers; the last state saved, all finite, is kept.
/// @throws Interrupted      if `stop` was requested; the state is saved.
/// @throws NumericalError   if a weight is too large for `save_dtype`; the state is saved.
/// @throws IoError          if the disk refuses.
TrainingOutcome run_training(const TrainingJob& job, const TrainingRunOptions& options,
                             const ProgressFn& on_progress = {}, std::stop_token stop = {});

}  // namespace lime
