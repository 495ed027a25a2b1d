// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lime {

/// Bit patterns of IEEE 754 binary16 and of bfloat16 (the upper half of a binary32).
using HalfBits = std::uint16_t;
using BFloat16Bits = std::uint16_t;

/// Converts in one vectorised pass; both spans have the same length.
/// float -> half rounds to nearest even and overflows to infinity, as in IEEE 754.
void float_to_half(std::span<const float> from, std::span<HalfBits> to);
void half_to_float(std::span<const HalfBits> from, std::span<float> to);
void bfloat16_to_float(std::span<const BFloat16Bits> from, std::span<float> to);

}  // namespace lime
