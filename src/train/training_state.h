// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/json.h"
#include "train/trainer.h"

namespace lime {

/// Complete state for resuming a killed run as if it had not been interrupted: weights, both
/// moments of AdamW and the number of steps. Nothing else is random or stored: the data order
/// follows from the seed and the step.
///
/// A safetensors file with `parameter.NAME`, `exp_avg.NAME` and `exp_avg_sq.NAME`; its metadata
/// contains `format` = "lime-training-state/1", `step` and `run`, the JSON object given here.

/// Checks that all weights and moments are finite. Reads every number once.
/// @throws NumericalError  naming the first parameter with a non-finite weight or moment.
void require_finite_state(Trainer& trainer);

/// Writes the state atomically. @throws IoError
void write_training_state(const std::filesystem::path& path, Trainer& trainer, const Json& run);

/// Reads the `run` object of a state, to compare it before the weights are read.
/// @throws IoError, FormatError
Json read_training_run(const std::filesystem::path& path);

/// Restores the state into a trainer whose decoder has the same parameters.
/// @throws FormatError  if a tensor is missing or has another shape.
void restore_training_state(const std::filesystem::path& path, Trainer& trainer);

}  // namespace lime
