// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

// NOLINTBEGIN(readability-identifier-naming): the block types have ggml's names.

/// Lists the types of the elements of a stored tensor. Those from kQ4_0 on are quantised: blocks of
/// 32 or 256 neighbours in a row that share a scale, see convert_blocks(). Only GGUF files have
/// them.
enum class Dtype {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
};

// NOLINTEND(readability-identifier-naming)

/// Returns the name in the file, e.g. "BF16".
std::string_view dtype_name(Dtype dtype);
/// Returns the dtype with this name in safetensors files, or nothing.
std::optional<Dtype> find_dtype(std::string_view name);
/// Returns the bytes per element of a type that is not quantised, per block of one that is.
std::size_t dtype_size(Dtype dtype);
/// Returns the elements per block of a quantised type; 1 for the other types.
std::size_t block_elements(Dtype dtype);
/// Returns true for the types with blocks.
bool is_quantized(Dtype dtype);
/// Returns the bytes of `elements` neighbours, which must be whole blocks.
std::size_t storage_bytes(Dtype dtype, std::size_t elements);
/// Returns true for F64, F32, F16, BF16 and the quantised types.
bool is_weight_dtype(Dtype dtype);

/// Sizes of a tensor, outermost first; empty for a scalar.
using Shape = std::vector<std::int64_t>;

/// Returns e.g. "[97, 48]".
std::string shape_text(const Shape& shape);
/// Returns the number of elements; the product of the sizes must not overflow.
std::int64_t element_count(const Shape& shape);

/// Returns the unsigned number that bytes spell, at most 8, the least significant first.
std::uint64_t little_endian(std::span<const std::byte> bytes);

/// A named tensor in another object's memory, little-endian, row-major, perhaps unaligned.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
};

}  // namespace lime
