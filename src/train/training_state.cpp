// SPDX-License-Identifier: Apache-2.0
#include "train/training_state.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "checkpoint/safetensors.h"
#include "core/errors.h"
#include "train/tensor_bytes.h"

namespace lime {
namespace {

constexpr std::string_view kFormat = "lime-training-state/1";

std::vector<NamedTensor> state_tensors(Trainer& trainer) {
  std::vector<NamedTensor> tensors = trainer.optimizer().moments();
  for (const auto& [name, tensor] : trainer.decoder().parameters()) {
    tensors.push_back({"parameter." + name, tensor.detach()});
  }
  return tensors;
}

const std::string& metadata_entry(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    throw FormatError("'{}': must be a training state of lime-train, its metadata lacks '{}'",
                      file.path().string(), key);
  }
  return found->second;
}

SafetensorsFile open_state(const std::filesystem::path& path) {
  SafetensorsFile file(path);
  const std::string& format = metadata_entry(file, "format");
  if (format != kFormat) {
    throw FormatError("'{}': must have the format '{}', got '{}'", path.string(), kFormat, format);
  }
  return file;
}

std::int64_t step_of(const SafetensorsFile& file) {
  const std::string& text = metadata_entry(file, "step");
  std::int64_t step = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), step);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || step < 0) {
    throw FormatError("'{}': step must be a whole number >= 0, got '{}'", file.path().string(),
                      text);
  }
  return step;
}

}  // namespace

void require_finite_state(Trainer& trainer) {
  const at::NoGradGuard no_grad;
  const auto require_finite = [&](const std::vector<NamedTensor>& tensors, const char* what) {
    for (const auto& [name, tensor] : tensors) {
      const auto largest = tensor.abs().max().item<double>();  // NaN if any element is
      if (std::isfinite(largest)) continue;
      throw NumericalError(
          "training: the {} must stay finite, got {} in '{}' after step {}; lower --learning-rate "
          "or raise --warmup-steps",
          what, std::abs(largest), name, trainer.steps_done());
    }
  };
  require_finite(trainer.decoder().parameters(), "weights");
  require_finite(trainer.optimizer().moments(), "moments of the gradients");
}

void write_training_state(const std::filesystem::path& path, Trainer& trainer, const Json& run) {
  const std::vector<NamedTensor> tensors = tensors_on_cpu(state_tensors(trainer));
  write_safetensors(path, tensor_views(tensors),
                    {{"format", std::string(kFormat)},
                     {"step", std::to_string(trainer.steps_done())},
                     {"run", run.dump()}});
}

Json read_training_run(const std::filesystem::path& path) {
  const SafetensorsFile file = open_state(path);
  return parse_json(metadata_entry(file, "run"), path.string());
}

void restore_training_state(const std::filesystem::path& path, Trainer& trainer) {
  const at::NoGradGuard no_grad;
  const SafetensorsFile file = open_state(path);
  const std::int64_t step = step_of(file);
  for (const auto& [name, tensor] : state_tensors(trainer)) {
    const TensorView* const stored = file.find(name);
    if (stored == nullptr) {
      throw FormatError("'{}': tensor '{}' is missing", path.string(), name);
    }
    const at::Tensor values = tensor_of(*stored);
    if (values.sizes() != tensor.sizes() || values.scalar_type() != tensor.scalar_type()) {
      throw FormatError("'{}': tensor '{}' must be {} of {}, got {} of {}", path.string(), name,
                        shape_text(tensor.sizes().vec()), c10::toString(tensor.scalar_type()),
                        shape_text(stored->shape), c10::toString(values.scalar_type()));
    }
    at::Tensor(tensor).copy_(values);
  }
  trainer.optimizer().set_steps(step);
}

}  // namespace lime
