// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/json.h"
#include "train/trainer.h"

namespace lime {

/// All that a killed run needs to go on as if it had never been killed: weights, both moments of
/// AdamW and the number of steps. Nothing else is random or remembered: the order of the data
/// follows from the seed and the step.
///
/// A safetensors file with `parameter.NAME`, `exp_avg.NAME` and `exp_avg_sq.NAME`; its metadata
/// holds `format` = "lime-training-state/1", `step` and `run`, the JSON object given here.

/// @throws NumericalError  that names the first parameter whose weights or moments are not all
///                         finite. Reads every number once.
void require_finite_state(Trainer& trainer);

/// Writes the state whole or not at all. @throws IoError
void write_training_state(const std::filesystem::path& path, Trainer& trainer, const Json& run);

/// What write_training_state() was given as `run`, to be compared before the weights are read.
/// @throws IoError, FormatError
Json read_training_run(const std::filesystem::path& path);

/// Puts the state into a trainer whose decoder has the same parameters.
/// @throws FormatError  if a tensor is missing or has another shape.
void restore_training_state(const std::filesystem::path& path, Trainer& trainer);

}  // namespace lime
