// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/safetensors.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <utility>

#include "checkpoint/weights/safetensors_header.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/json.h"
#include "core/utf8.h"

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

constexpr std::size_t kAlignment = 8;

void check_tensor(const TensorView& tensor) {
  if (first_invalid_utf8(tensor.name) || tensor.name == "__metadata__") {
    throw InvalidArgument(
        "write_safetensors: a tensor name must be valid UTF-8 and not reserved, got '{}'",
        printable(tensor.name));
  }
  std::uint64_t bytes = dtype_size(tensor.dtype);
  bool fits = true;
  for (const std::int64_t size : tensor.shape) {
    fits &= size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  if (!fits || bytes != tensor.bytes.size()) {
    throw InvalidArgument("write_safetensors: tensor '{}' is {} {}, but has {} bytes", tensor.name,
                          dtype_name(tensor.dtype), shape_text(tensor.shape), tensor.bytes.size());
  }
}

std::vector<const TensorView*> in_file_order(std::span<const TensorView> tensors) {
  std::set<std::string_view> names;
  std::vector<const TensorView*> order;
  for (const TensorView& tensor : tensors) {
    check_tensor(tensor);
    throw_if(!names.insert(tensor.name).second, "write_safetensors: tensor '{}' is given twice",
             tensor.name);
    order.push_back(&tensor);
  }
  std::ranges::sort(order, [](const TensorView* a, const TensorView* b) {
    const std::size_t size_a = dtype_size(a->dtype);
    const std::size_t size_b = dtype_size(b->dtype);
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  return order;
}

/// The JSON header, padded with spaces so that the data is aligned.
std::string header_of(const std::vector<const TensorView*>& order,
                      const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const TensorView* tensor : order) {
    const std::size_t end = offset + tensor->bytes.size();
    header[tensor->name] = {{"dtype", dtype_name(tensor->dtype)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

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

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
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

void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorView*> order = in_file_order(tensors);
  const std::string header = header_of(order, metadata);
  write_file_atomically(path, [&](std::ostream& out) {
    for (std::size_t i = 0; i < sizeof(std::uint64_t); ++i) {
      out.put(static_cast<char>(header.size() >> (8 * i) & 0xFFU));
    }
    out << header;
    for (const TensorView* tensor : order) {
      out.write(reinterpret_cast<const char*>(tensor->bytes.data()),
                static_cast<std::streamsize>(tensor->bytes.size()));
      if (!out) return;  // reported by write_file_atomically() with the disk's reason
    }
  });
}

}  // namespace lime
