// SPDX-License-Identifier: Apache-2.0
// Files that are no captures, with the readers of the programs.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/weights/float_reader.h"
#include "checkpoint/weights/safetensors.h"
#include "core/json.h"
#include "store/hdf5/hdf5_file.h"
#include "text.h"

namespace lime::python {
namespace {

namespace fs = std::filesystem;

nb::object read_json(const fs::path& path) {
  Json value;
  {
    const nb::gil_scoped_release released;
    throw_if<MissingFile>(!fs::exists(path), "'{}' does not exist", path.string());
    value = read_json_file(path);
  }
  return to_python(value);
}

std::vector<double> values_of(const TensorView& tensor, const fs::path& folder) {
  const auto fail = [&](const char* problem) {
    throw FormatError("'{}': '{}' {}", folder.string(), tensor.name, problem);
  };
  if (!is_weight_dtype(tensor.dtype)) fail("must be floating-point");
  std::vector<double> values(static_cast<std::size_t>(element_count(tensor.shape)));
  if (convert_weights(tensor.dtype, tensor.bytes, values)) fail("has a value that is not finite");
  return values;
}

/// Returns whole numbers of any size, least significant byte first.
std::vector<std::int64_t> whole_numbers_of(const TensorView& tensor) {
  const std::size_t size = dtype_size(tensor.dtype);
  std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(tensor.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = little_endian(tensor.bytes.subspan(i * size, size));
    const auto unused = static_cast<int>(64 - 8 * size);  // extends the sign
    values[i] = static_cast<std::int64_t>(bits << unused) >> unused;
  }
  return values;
}

/// Returns a tensor in float32 (exact for float16 and bfloat16), whole numbers in int64.
nb::object tensor_to_numpy(const TensorView& tensor, const fs::path& path) {
  const std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
  if (tensor.dtype == Dtype::kI64 || tensor.dtype == Dtype::kI32 || tensor.dtype == Dtype::kI16 ||
      tensor.dtype == Dtype::kI8) {
    return to_numpy(whole_numbers_of(tensor), shape);
  }
  throw_if<FormatError>(
      tensor.dtype != Dtype::kF32 && tensor.dtype != Dtype::kF16 && tensor.dtype != Dtype::kBF16,
      "'{}': '{}' must be F32, F16, BF16 or whole numbers with a sign, got {}", path.string(),
      tensor.name, dtype_name(tensor.dtype));
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
  convert_weights(tensor.dtype, tensor.bytes, std::span(values));  // NaN stays, as in captures
  return to_numpy(std::move(values), shape);
}

/// Returns all tensors of a safetensors file by name.
nb::dict read_safetensors(const fs::path& path) {
  throw_if<MissingFile>(!fs::exists(path), "'{}' does not exist", path.string());
  const SafetensorsFile file(path);
  nb::dict tensors;
  for (const TensorView& tensor : file.tensors()) {
    tensors[to_str(tensor.name)] = tensor_to_numpy(tensor, path);
  }
  return tensors;
}

/// Weights of a checkpoint folder, of which only the headers are read at first.
class CheckpointWeights {
 public:
  explicit CheckpointWeights(const fs::path& folder)
      : folder_(folder),
        paths_(find_checkpoint(folder)),
        files_(open_weight_files(paths_.weights)) {}

  CheckpointWeights(const CheckpointWeights&) = delete;
  CheckpointWeights& operator=(const CheckpointWeights&) = delete;

  nb::object config() const { return read_json(paths_.config); }

  /// Returns the tensor as float64, or None if there is none of this name.
  nb::object read(const std::string& name) const {
    const auto found = std::ranges::find(files_.tensors, name, &TensorView::name);
    if (found == files_.tensors.end()) return nb::none();
    std::vector<std::size_t> shape(found->shape.begin(), found->shape.end());
    return to_numpy(values_of(*found, folder_), shape);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const TensorView& tensor : files_.tensors) names.push_back(tensor.name);
    return names;
  }

 private:
  fs::path folder_;
  CheckpointFiles paths_;
  WeightFiles files_;
};

}  // namespace

void bind_files(nb::module_& module) {
  module.def("read_json", read_json);
  module.def("read_safetensors", read_safetensors);
  nb::class_<CheckpointWeights>(module, "CheckpointWeights")
      .def(nb::init<const fs::path&>())
      .def("config", &CheckpointWeights::config)
      .def("read", &CheckpointWeights::read)
      .def("names", &CheckpointWeights::names);
}

}  // namespace lime::python
