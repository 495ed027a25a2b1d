// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lime {

#if defined(__AVX512F__)
inline constexpr std::int64_t kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr std::int64_t kVectorBytes = 32;
#else
inline constexpr std::int64_t kVectorBytes = 16;
#endif

/// Vector with as many elements as one vector register of the target CPU. Arithmetic is
/// elementwise; it may be loaded from and stored to any array of T.
template <typename T>
struct Lanes {
  static constexpr std::int64_t kCount = kVectorBytes / static_cast<std::int64_t>(sizeof(T));
  using Vector [[gnu::vector_size(kVectorBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;

  static Vector load(const T* from) { return *reinterpret_cast<const Vector*>(from); }
  static void store(T* to, const Vector& value) { *reinterpret_cast<Vector*>(to) = value; }
};

}  // namespace lime
