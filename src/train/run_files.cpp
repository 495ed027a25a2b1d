// SPDX-License-Identifier: Apache-2.0
#include "train/run_files.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <sstream>

#include "checkpoint/weights/safetensors.h"
#include "core/files/atomic_file.h"

namespace lime {
namespace {

constexpr std::pair<Dtype, c10::ScalarType> kTypes[] = {{Dtype::kF64, c10::ScalarType::Double},
                                                        {Dtype::kF32, c10::ScalarType::Float},
                                                        {Dtype::kF16, c10::ScalarType::Half},
                                                        {Dtype::kBF16, c10::ScalarType::BFloat16}};

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
  throw_if<FormatError>(found == file.metadata().end(),
                        "'{}': must be a training state of lime-train, its metadata lacks '{}'",
                        file.path().string(), key);
  return found->second;
}

SafetensorsFile open_state(const std::filesystem::path& path) {
  SafetensorsFile file(path);
  const std::string& format = metadata_entry(file, "format");
  throw_if<FormatError>(format != kFormat, "'{}': must have the format '{}', got '{}'",
                        path.string(), kFormat, format);
  return file;
}

std::int64_t step_of(const SafetensorsFile& file) {
  const std::string& text = metadata_entry(file, "step");
  std::int64_t step = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), step);
  throw_if<FormatError>(
      parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || step < 0,
      "'{}': step must be a whole number >= 0, got '{}'", file.path().string(), text);
  return step;
}

/// Returns true if the line is complete and belongs to the steps up to `step`.
bool is_kept(const std::string& line, std::int64_t step) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto found = json.find("step");
  return found == json.end() || (found->is_number_integer() && found->get<std::int64_t>() <= step);
}

std::string old_lines(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  return std::string(MappedFile(path).text());
}

/// Copies a stored tensor.
/// @throws FormatError  unless its type is F64, F32, F16 or BF16.
at::Tensor tensor_of(const TensorView& view) {
  for (const auto& [dtype, type] : kTypes) {
    if (dtype != view.dtype) continue;
    at::Tensor tensor = at::empty(view.shape, at::TensorOptions(type));
    std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
    return tensor;
  }
  throw FormatError("tensor '{}': must be F64, F32, F16 or BF16, got {}", view.name,
                    dtype_name(view.dtype));
}

}  // namespace

std::vector<NamedTensor> tensors_on_cpu(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copies;
  copies.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    copies.push_back({name, tensor.detach().to(at::kCPU).contiguous()});
  }
  return copies;
}

std::vector<NamedTensor> tensors_as(const std::vector<NamedTensor>& tensors, ComputeType type) {
  std::vector<NamedTensor> copies = tensors_on_cpu(tensors);
  for (auto& [name, tensor] : copies) {
    if (tensor.scalar_type() == scalar_type(type)) continue;
    const at::Tensor rounded = tensor.to(scalar_type(type));
    if (!at::isfinite(rounded).all().item<bool>()) {
      throw NumericalError("tensor '{}': must fit into {}, got elements up to {:.4g}", name,
                           enum_name(type), tensor.abs().max().item<double>());
    }
    tensor = rounded;
  }
  return copies;
}

std::vector<TensorView> tensor_views(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorView> views;
  views.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto* const found = std::ranges::find_if(
        kTypes, [&](const auto& type) { return type.second == tensor.scalar_type(); });
    throw_if(found == std::end(kTypes), "tensor '{}': must have a floating-point type, got {}",
             name, c10::toString(tensor.scalar_type()));
    views.push_back({name,
                     found->first,
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  }
  return views;
}

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
    throw_if<FormatError>(stored == nullptr, "'{}': tensor '{}' is missing", path.string(), name);
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

TrainLog::TrainLog(const std::filesystem::path& path)
    : path_(path), stream_(path, std::ios::binary | std::ios::app) {
  throw_if<IoError>(!stream_, "'{}': cannot be written: {}", path.string(), describe_errno(errno));
}

TrainLog TrainLog::create(const std::filesystem::path& path) {
  write_file_atomically(path, std::string_view());
  return TrainLog(path);
}

TrainLog TrainLog::resume(const std::filesystem::path& path, std::int64_t step) {
  std::istringstream old(old_lines(path));
  std::string kept;
  for (std::string line; std::getline(old, line);) {
    if (is_kept(line, step)) kept += line + "\n";
  }
  write_file_atomically(path, kept);
  return TrainLog(path);
}

bool TrainLog::holds(std::string_view event, std::int64_t step) const {
  bool found = false;
  for_each_line(path_, [&](std::string_view text, std::int64_t number) {
    const Json line = parse_json(text, fmt::format("'{}' line {}", path_.string(), number));
    found = line.is_object() && line.value("event", Json()) == event &&
            line.value("step", Json()) == step;
    return !found;
  });
  return found;
}

void TrainLog::write(const Json& line) {
  errno = 0;
  stream_ << dump_json(line) << '\n' << std::flush;
  if (!stream_) {
    throw IoError("'{}': cannot be written: {}", path_.string(),
                  describe_errno(errno != 0 ? errno : EIO));
  }
}

}  // namespace lime
