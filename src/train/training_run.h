// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "core/json.h"
#include "core/options.h"
#include "core/program/progress.h"
#include "model/decoders/decoder.h"
#include "model/kernels/compute_type.h"
#include "train/batch_source.h"
#include "train/model_options.h"
#include "train/trainer.h"

namespace lime {

/// Output folder of a run and the intervals of saving, logging and validation in steps; describe()
/// explains every field.
struct TrainingRunOptions {
  std::filesystem::path output;
  bool resume = false;
  std::int64_t save_every = 1000;
  std::int64_t log_every = 10;
  std::int64_t validate_every = 500;
  ComputeType save_dtype = ComputeType::kFloat32;  ///< rounded from the weights of training

  void describe(OptionList& list);
  void validate() const;
};

/// Settings that all tasks share: a decoder, an optimiser, an output folder.
struct TrainingSetup {
  /// Seed of the initial weights and the data order; also of the data if a task generates it.
  std::uint64_t seed = 0;
  /// Checkpoint to start from, instead of `model` with random weights. If model.decoder names a
  /// routing that the checkpoint lacks, its blocks get the routing, with initial weights.
  std::filesystem::path from;
  ModelOptions model;
  TrainingOptions training;
  TrainingRunOptions run;
  ComputeOptions compute;
  /// Other processes in the training, of which only rank 0 writes; null for none.
  /// training.batch_size is the total over all processes.
  ProcessGroup* group = nullptr;
  /// Receives warnings about the data, one line each. May be empty.
  std::function<void(const std::string&)> warn = {};

  void validate() const;

  /// Checks the length of a training sequence of a model with this configuration.
  ///
  /// A new model has max_position_embeddings positions. A checkpoint to train further also accepts
  /// longer sequences, as with transformers' Trainer, unless its positions are learned. Its
  /// max_position_embeddings stays as it is, because the angles of some RoPE types depend on it.
  /// @param what  of what the sequence consists, for the error.
  /// @throws InvalidArgument  if the sequence has more tokens; names the option to change.
  void check_length(const ModelConfig& config, std::int64_t tokens, const std::string& what) const;

  /// Warns if sequences are longer than max_position_embeddings.
  /// @param lengths  tokens of each sequence.
  void warn_of_long(const ModelConfig& config, std::span<const std::int64_t> lengths) const;

  /// Returns the initial decoder for a tokenizer with `vocab_size` tokens.
  /// @throws InvalidArgument  if the checkpoint has fewer.
  /// @throws as Checkpoint::open(), load_decoder() and ModelOptions::config()
  Decoder first_decoder(std::int64_t vocab_size, std::int64_t bos_token_id,
                        std::int64_t eos_token_id) const;
  /// Returns TrainingJob::description of a task: its data, the checkpoint to start from, the seed.
  Json describe(const char* task, Json data) const;
};

struct TrainingJob {
  Decoder& decoder;
  BatchSource& data;
  BatchSource* validation = nullptr;  ///< held-out data; null for none
  const TrainingSetup& setup;
  /// Properties that a resumed run must share, in groups, e.g. {"task": {...}, "data": {...}}.
  Json description;
  /// Other files of the checkpoint folder, by name: tokenizer.json, ...
  std::map<std::string, std::string> files;
  /// Evaluates the trained model; the result is written to the log. May be empty.
  std::function<Json(const ProgressFn&, std::stop_token)> evaluate;
};

struct TrainingOutcome {
  std::int64_t steps = 0;         ///< all steps of the run
  std::int64_t resumed_from = 0;  ///< steps done before this call
  std::optional<double> validation_loss;
  Json evaluation;       ///< null without TrainingJob::evaluate
  double seconds = 0.0;  ///< spent on the steps of this call, without validation and saving
};

/// Trains to the end and writes to `output`
///
///   config.json, model.safetensors, files   the model in Hugging Face's format
///   training_state.safetensors              for resuming: see run_files.h
///   training_options.json                   the options of the run
///   training_log.jsonl                      the events of the run: see TrainLog
///
/// Each file is written atomically. State and model are saved every `save_every` steps, at the end
/// and when `stop` is requested. A resumed run takes bit-identical steps to an uninterrupted one
/// (on a CPU with the same number of threads).
///
/// @param on_progress  steps, then items of the evaluation
/// @throws InvalidArgument  if `output` contains a run and `resume` is false, a run with another
///         description (names the first difference), or a model without a state.
/// @throws NumericalError   if the loss, a gradient, or a weight or moment to be saved is not
///         finite; the last saved state, all finite, is kept. If a weight is too large for
///         `save_dtype`; the state is saved.
/// @throws Interrupted      if `stop` was requested; the state is saved.
/// @throws IoError          if writing fails.
TrainingOutcome run_training(const TrainingJob& job, const ProgressFn& on_progress = {},
                             std::stop_token stop = {});

}  // namespace lime
