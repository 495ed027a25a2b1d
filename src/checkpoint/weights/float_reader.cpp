// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/float_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <type_traits>

#include "checkpoint/weights/quantized_blocks.h"
#include "core/half.h"

namespace lime {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

/// Elements per step, whole blocks of every quantised type: converted elements are checked while
/// they are in the L1 cache.
constexpr std::size_t kBlock = 2048;

/// True if all values are finite: their exponents are not all ones.
template <typename T> bool all_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits bad = 0;
  for (const T value : values) {
    bad |= static_cast<Bits>((std::bit_cast<Bits>(value) & kExponent) == kExponent);
  }
  return bad == 0;
}

template <typename T> std::size_t first_not_finite(std::span<const T> values) {
  std::size_t i = 0;
  while (all_finite(values.subspan(i, 1))) ++i;
  return i;
}

/// Copies one block into aligned memory as `T`.
template <typename T>
std::span<const T> load(std::span<const std::byte> from, std::array<T, kBlock>& block) {
  std::memcpy(block.data(), from.data(), from.size());
  return {block.data(), from.size() / sizeof(T)};
}

/// Converts one block of at most kBlock elements.
void convert_block(Dtype dtype, std::span<const std::byte> from, std::span<float> to) {
  switch (dtype) {
    case Dtype::kF32: std::memcpy(to.data(), from.data(), from.size()); return;
    case Dtype::kF16: {
      std::array<HalfBits, kBlock> block;
      half_to_float(load(from, block), to);
      return;
    }
    case Dtype::kBF16: {
      std::array<BFloat16Bits, kBlock> block;
      bfloat16_to_float(load(from, block), to);
      return;
    }
    case Dtype::kF64: {
      std::array<double, kBlock> block;
      const auto values = load(from, block);
      std::transform(values.begin(), values.end(), to.begin(),
                     [](double value) { return static_cast<float>(value); });
      return;
    }
    default: convert_blocks(dtype, from, to); return;
  }
}

void convert_block(Dtype dtype, std::span<const std::byte> from, std::span<double> to) {
  if (dtype == Dtype::kF64) {
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  std::array<float, kBlock> block;
  const std::span<float> values(block.data(), to.size());
  convert_block(dtype, from, values);
  std::copy(values.begin(), values.end(), to.begin());
}

template <typename T>
std::optional<std::size_t> convert(Dtype dtype, std::span<const std::byte> from, std::span<T> to) {
  assert(from.size() == storage_bytes(dtype, to.size()));
  std::optional<std::size_t> first_bad;
  for (std::size_t start = 0; start < to.size(); start += kBlock) {
    const std::size_t count = std::min(kBlock, to.size() - start);
    const std::span<T> block = to.subspan(start, count);
    convert_block(dtype, from.subspan(storage_bytes(dtype, start), storage_bytes(dtype, count)),
                  block);
    if (!first_bad && !all_finite(std::span<const T>(block))) {
      first_bad = start + first_not_finite(std::span<const T>(block));
    }
  }
  return first_bad;
}

}  // namespace

std::optional<std::size_t> convert_weights(Dtype dtype, std::span<const std::byte> from,
                                           std::span<float> to) {
  return convert(dtype, from, to);
}

std::optional<std::size_t> convert_weights(Dtype dtype, std::span<const std::byte> from,
                                           std::span<double> to) {
  return convert(dtype, from, to);
}

}  // namespace lime
