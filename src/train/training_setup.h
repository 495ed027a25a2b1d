// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "model/decoder.h"
#include "train/compute_options.h"
#include "train/model_options.h"
#include "train/trainer.h"
#include "train/training_run.h"

namespace lime {

/// What every task is trained with: a decoder, an optimiser, a folder to keep both in.
struct TrainingSetup {
  /// Of the weights at the start and of the order of the data; of the data where a task draws it.
  std::uint64_t seed = 0;
  /// Checkpoint folder to go on from, instead of `model` with random weights.
  std::filesystem::path from;
  ModelOptions model;
  TrainingOptions training;
  TrainingRunOptions run;
  ComputeOptions compute;
  /// The other processes that train with this one; null for none. training.batch_size is that of
  /// all together.
  ProcessGroup* group = nullptr;

  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;

  /// The decoder that training starts with, for a tokenizer with `vocab_size` tokens.
  /// @throws InvalidArgument  if the checkpoint has fewer.
  /// @throws as Checkpoint::open(), load_decoder(), ModelOptions::config()
  Decoder first_decoder(std::int64_t vocab_size, std::int64_t bos_token_id,
                        std::int64_t eos_token_id) const;
  /// SHA-256 of the checkpoint to go on from; empty without one.
  std::string from_digest() const;
};

}  // namespace lime
