// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include <bit>
#include <cassert>
#include <cstddef>

namespace lime {
namespace {

// GCC turns these loops into vcvtps2ph / vcvtph2ps where the target has F16C.
__extension__ using Half = _Float16;

}  // namespace

void float_to_half(std::span<const float> from, std::span<HalfBits> to) {
  assert(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = std::bit_cast<HalfBits>(static_cast<Half>(from[i]));
  }
}

void half_to_float(std::span<const HalfBits> from, std::span<float> to) {
  assert(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = static_cast<float>(std::bit_cast<Half>(from[i]));
  }
}

void bfloat16_to_float(std::span<const BFloat16Bits> from, std::span<float> to) {
  assert(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
  }
}

}  // namespace lime
