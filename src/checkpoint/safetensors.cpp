// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <array>
#include <utility>

#include "checkpoint/safetensors_header.h"
#include "core/errors.h"

namespace lime {
namespace {

struct DtypeEntry {
  std::string_view name;
  std::size_t size;
};

/// In the order of the enumerators.
constexpr std::array<DtypeEntry, 15> kDtypes = {{{"F64", 8},
                                                 {"F32", 4},
                                                 {"F16", 2},
                                                 {"BF16", 2},
                                                 {"I64", 8},
                                                 {"I32", 4},
                                                 {"I16", 2},
                                                 {"I8", 1},
                                                 {"U64", 8},
                                                 {"U32", 4},
                                                 {"U16", 2},
                                                 {"U8", 1},
                                                 {"BOOL", 1},
                                                 {"F8_E4M3", 1},
                                                 {"F8_E5M2", 1}}};

const DtypeEntry& entry_of(Dtype dtype) { return kDtypes.at(static_cast<std::size_t>(dtype)); }

}  // namespace

std::string_view dtype_name(Dtype dtype) { return entry_of(dtype).name; }

std::size_t dtype_size(Dtype dtype) { return entry_of(dtype).size; }

std::optional<Dtype> find_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

bool is_weight_dtype(Dtype dtype) {
  return dtype == Dtype::kF64 || dtype == Dtype::kF32 || dtype == Dtype::kF16 ||
         dtype == Dtype::kBF16;
}

std::string shape_text(const Shape& shape) {
  // Not fmt::join: GCC 12 warns of an overflow inside fmt 9 there.
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path), file_(path) {
  SafetensorsHeader header = parse_safetensors_header(file_.bytes(), path.string());
  metadata_ = std::move(header.metadata);
  tensors_ = std::move(header.tensors);
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_.emplace(tensors_[i].name, i);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace lime
