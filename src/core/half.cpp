// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include <Eigen/Core>
#include <bit>
#include <cassert>
#include <cstddef>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace lime {

void float_to_half(std::span<const float> from, std::span<HalfBits> to) {
  assert(from.size() == to.size());
  std::size_t i = 0;
#if defined(__F16C__)  // GCC 12 makes scalar conversions of the loop below
  for (; i + 8 <= from.size(); i += 8) {
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(from.data() + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to.data() + i), halves);
  }
#endif
  for (; i < from.size(); ++i) to[i] = std::bit_cast<HalfBits>(Eigen::half(from[i]));
}

void half_to_float(std::span<const HalfBits> from, std::span<float> to) {
  assert(from.size() == to.size());
  std::size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= from.size(); i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + i));
    _mm256_storeu_ps(to.data() + i, _mm256_cvtph_ps(halves));
  }
#endif
  for (; i < from.size(); ++i) to[i] = static_cast<float>(std::bit_cast<Eigen::half>(from[i]));
}

void bfloat16_to_float(std::span<const BFloat16Bits> from, std::span<float> to) {
  assert(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
  }
}

}  // namespace lime
