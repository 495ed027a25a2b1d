// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <experimental/simd>

/// Vector registers of the target CPU, for kernels of metrics and model.
namespace lime::simd {

/// Vector of as many elements as one register has; arithmetic is elementwise.
template <typename T> using Vector = std::experimental::native_simd<T>;
template <typename T>
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(Vector<T>::size());

/// Loads from any address; load_as() converts each element to T.
template <typename T, typename From> Vector<T> load_as(const From* from) {
  return Vector<T>(from, std::experimental::element_aligned);
}
template <typename T> Vector<T> load(const T* from) { return load_as<T>(from); }
template <typename T> void store(T* to, const Vector<T>& value) {
  value.copy_to(to, std::experimental::element_aligned);
}
/// Returns the sum of the lanes, always in the same order.
template <typename T> T sum_of_lanes(const Vector<T>& value) {
  return std::experimental::reduce(value);
}

}  // namespace lime::simd
