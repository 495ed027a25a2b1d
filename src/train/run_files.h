// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "checkpoint/weights/tensor_view.h"
#include "core/json.h"
#include "model/decoders/decoder.h"
#include "model/kernels/compute_type.h"
#include "train/trainer.h"

namespace lime {

/// Returns the tensors in CPU memory, contiguous; copies only if needed.
std::vector<NamedTensor> tensors_on_cpu(const std::vector<NamedTensor>& tensors);

/// Returns the tensors in CPU memory with elements of `type`, rounded to nearest.
/// @throws NumericalError  naming the first tensor with an element too large for the type.
std::vector<NamedTensor> tensors_as(const std::vector<NamedTensor>& tensors, ComputeType type);

/// Returns views for the writers of the checkpoint module; valid as long as `tensors`.
/// @throws InvalidArgument  for an element type not supported in safetensors here.
std::vector<TensorView> tensor_views(const std::vector<NamedTensor>& tensors);

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

/// The log of a training run: one JSON object per line, each with `event` (start, step, validation,
/// save, resume, interrupted, failed, evaluation, end) and, where it belongs to one, `step`.
///
/// Lines are flushed to the system as soon as they are complete, so a killed run loses none.
/// pandas: `read_json(path, lines=True)`. Not thread-safe.
class TrainLog {
 public:
  /// Creates a log at `path`, replacing an existing one. @throws IoError
  static TrainLog create(const std::filesystem::path& path);
  /// Resumes the log at `path` after the lines up to `step`. Removes lines that a killed run wrote
  /// after its last saved state, and a truncated last line. Creates a log if there is none. @throws
  /// IoError
  static TrainLog resume(const std::filesystem::path& path, std::int64_t step);

  /// Returns true if the log has a line with this `event` and `step`. @throws IoError
  bool holds(std::string_view event, std::int64_t step) const;

  void write(const Json& line);

 private:
  explicit TrainLog(const std::filesystem::path& path);

  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace lime
