// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/tensor_view.h"

#include <algorithm>
#include <array>

namespace lime {
namespace {

struct DtypeEntry {
  Dtype dtype;
  std::string_view name;
  std::size_t bytes;         ///< per block
  std::size_t elements = 1;  ///< per block
};

/// In the order of the enumerators. Blocks: ggml-common.h of ggml, github.com/ggml-org/ggml.
constexpr std::array<DtypeEntry, 28> kDtypes = {{{Dtype::kF64, "F64", 8},
                                                 {Dtype::kF32, "F32", 4},
                                                 {Dtype::kF16, "F16", 2},
                                                 {Dtype::kBF16, "BF16", 2},
                                                 {Dtype::kI64, "I64", 8},
                                                 {Dtype::kI32, "I32", 4},
                                                 {Dtype::kI16, "I16", 2},
                                                 {Dtype::kI8, "I8", 1},
                                                 {Dtype::kU64, "U64", 8},
                                                 {Dtype::kU32, "U32", 4},
                                                 {Dtype::kU16, "U16", 2},
                                                 {Dtype::kU8, "U8", 1},
                                                 {Dtype::kBool, "BOOL", 1},
                                                 {Dtype::kF8E4M3, "F8_E4M3", 1},
                                                 {Dtype::kF8E5M2, "F8_E5M2", 1},
                                                 {Dtype::kQ4_0, "Q4_0", 18, 32},
                                                 {Dtype::kQ4_1, "Q4_1", 20, 32},
                                                 {Dtype::kQ5_0, "Q5_0", 22, 32},
                                                 {Dtype::kQ5_1, "Q5_1", 24, 32},
                                                 {Dtype::kQ8_0, "Q8_0", 34, 32},
                                                 {Dtype::kQ2_K, "Q2_K", 84, 256},
                                                 {Dtype::kQ3_K, "Q3_K", 110, 256},
                                                 {Dtype::kQ4_K, "Q4_K", 144, 256},
                                                 {Dtype::kQ5_K, "Q5_K", 176, 256},
                                                 {Dtype::kQ6_K, "Q6_K", 210, 256},
                                                 {Dtype::kIQ4_NL, "IQ4_NL", 18, 32},
                                                 {Dtype::kIQ4_XS, "IQ4_XS", 136, 256},
                                                 {Dtype::kMXFP4, "MXFP4", 17, 32}}};

consteval bool is_in_order() {
  for (std::size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i].dtype != static_cast<Dtype>(i)) return false;
  }
  return true;
}
static_assert(is_in_order());

const DtypeEntry& entry_of(Dtype dtype) { return kDtypes.at(static_cast<std::size_t>(dtype)); }

}  // namespace

std::string_view dtype_name(Dtype dtype) { return entry_of(dtype).name; }

std::size_t dtype_size(Dtype dtype) { return entry_of(dtype).bytes; }

std::size_t block_elements(Dtype dtype) { return entry_of(dtype).elements; }

bool is_quantized(Dtype dtype) { return block_elements(dtype) > 1; }

std::size_t storage_bytes(Dtype dtype, std::size_t elements) {
  return elements / block_elements(dtype) * dtype_size(dtype);
}

std::optional<Dtype> find_dtype(std::string_view name) {
  const auto found = std::ranges::find(kDtypes, name, &DtypeEntry::name);
  if (found == kDtypes.end() || is_quantized(found->dtype)) return std::nullopt;
  return found->dtype;
}

bool is_weight_dtype(Dtype dtype) {
  return dtype == Dtype::kF64 || dtype == Dtype::kF32 || dtype == Dtype::kF16 ||
         dtype == Dtype::kBF16 || is_quantized(dtype);
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

}  // namespace lime
