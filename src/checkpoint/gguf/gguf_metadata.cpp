// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_metadata.h"

#include <algorithm>
#include <functional>

#include "checkpoint/weights/float_reader.h"
#include "core/errors.h"

namespace lime {

GgufMetadata::GgufMetadata(const GgufHeader& header, std::string_view where)
    : header_(header),
      keys_(header.metadata, fmt::format("'{}'", where)),
      architecture_(keys_.required_text("general.architecture")) {}

std::optional<std::int64_t> GgufMetadata::size(std::string_view name) const {
  const GgufArray* const list = header_.find_array(key(name));
  if (list == nullptr) return integer(name);
  const std::vector<double> sizes = list->numbers();
  throw_if<FormatError>(
      sizes.empty() || std::ranges::adjacent_find(sizes, std::not_equal_to()) != sizes.end(),
      "{}: '{}' must be the same for all layers; models with layers of "
      "different sizes are not supported",
      keys_.where(), key(name));
  return static_cast<std::int64_t>(sizes.front());
}

std::int64_t GgufMetadata::required_size(std::string_view name) const {
  if (const auto found = size(name)) return *found;
  return keys_.required_integer(key(name));  // throws
}

std::int64_t GgufMetadata::head_dim() const {
  if (const auto length = integer("attention.key_length")) return *length;
  return required_size("embedding_length") /
         std::max<std::int64_t>(required_size("attention.head_count"), 1);
}

std::vector<double> GgufMetadata::list(std::string_view name) const {
  const GgufArray* const list = header_.find_array(key(name));
  return list == nullptr ? std::vector<double>() : list->numbers();
}

const TensorView* GgufMetadata::tensor(std::string_view name) const {
  const auto found = std::ranges::find(header_.tensors, name, &TensorView::name);
  return found == header_.tensors.end() ? nullptr : &*found;
}

Json GgufMetadata::values(std::string_view name) const {
  const TensorView* const found = tensor(name);
  if (found == nullptr) return nullptr;
  constexpr std::int64_t kMaxElements = 65536;
  throw_if<FormatError>(element_count(found->shape) > kMaxElements || found->dtype != Dtype::kF32,
                        "{}: tensor '{}' must have at most {} elements of type F32, got {} {}",
                        keys_.where(), name, kMaxElements, dtype_name(found->dtype),
                        shape_text(found->shape));
  std::vector<float> values(static_cast<std::size_t>(element_count(found->shape)));
  convert_weights(found->dtype, found->bytes, std::span<float>(values));
  return values;
}

}  // namespace lime
