// SPDX-License-Identifier: Apache-2.0
// Writing of safetensors.h.
#include <algorithm>
#include <ostream>
#include <set>

#include "checkpoint/safetensors.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/json.h"
#include "core/utf8.h"

namespace lime {
namespace {

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
    if (!names.insert(tensor.name).second) {
      throw InvalidArgument("write_safetensors: tensor '{}' is given twice", tensor.name);
    }
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
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
