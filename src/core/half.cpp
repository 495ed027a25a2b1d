// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include <Eigen/Core>
#include <bit>
#include <cassert>
#include <cstddef>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace lime {
namespace {

#if defined(__FLT16_MANT_DIG__)
__extension__ using Half = _Float16;
#else
using Half = Eigen::half;  // Clang 14 supports _Float16 on x86 only with AVX512-FP16
#endif

// GCC 12 turns these two loops into scalar conversions or, without F16C, into calls.
void float_to_half_plain(const float* from, HalfBits* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<HalfBits>(static_cast<Half>(from[i]));
}

void half_to_float_plain(const HalfBits* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(std::bit_cast<Half>(from[i]));
}

#if defined(__x86_64__)
/// Values that the vector loops below convert at a time.
constexpr std::size_t kLanes = 8;

/// Returns true if the operating system saves AVX registers and the CPU has F16C (bit 29 of CPUID
/// 1: ECX), which clang's __builtin_cpu_supports does not support by name.
bool has_f16c() {
  static const bool has = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
           (ecx & bit_F16C) != 0;
  }();
  return has;
}

/// @return number of values converted, a multiple of kLanes.
__attribute__((target("avx,f16c"))) std::size_t float_to_half_vector(const float* from,
                                                                     HalfBits* to,
                                                                     std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
  return i;
}

__attribute__((target("avx,f16c"))) std::size_t half_to_float_vector(const HalfBits* from,
                                                                     float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  return i;
}
#else
bool has_f16c() { return false; }
std::size_t float_to_half_vector(const float*, HalfBits*, std::size_t) { return 0; }
std::size_t half_to_float_vector(const HalfBits*, float*, std::size_t) { return 0; }
#endif

}  // namespace

void float_to_half(std::span<const float> from, std::span<HalfBits> to) {
  assert(from.size() == to.size());
  const std::size_t done =
      has_f16c() ? float_to_half_vector(from.data(), to.data(), from.size()) : 0;
  float_to_half_plain(from.data() + done, to.data() + done, from.size() - done);
}

void half_to_float(std::span<const HalfBits> from, std::span<float> to) {
  assert(from.size() == to.size());
  const std::size_t done =
      has_f16c() ? half_to_float_vector(from.data(), to.data(), from.size()) : 0;
  half_to_float_plain(from.data() + done, to.data() + done, from.size() - done);
}

void bfloat16_to_float(std::span<const BFloat16Bits> from, std::span<float> to) {
  assert(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
  }
}

}  // namespace lime
