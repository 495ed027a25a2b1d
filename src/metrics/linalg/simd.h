// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <experimental/simd>

namespace lime::linalg {

/// Vector of as many doubles as one register of the target CPU.
using Simd = std::experimental::native_simd<double>;
inline constexpr std::int64_t kLanes = Simd::size();

inline Simd load(const double* from) { return Simd(from, std::experimental::element_aligned); }
inline void store(double* to, const Simd& value) {
  value.copy_to(to, std::experimental::element_aligned);
}
/// Returns the sum of the lanes, always in the same order.
inline double sum_of_lanes(const Simd& value) { return std::experimental::reduce(value); }

/// Rows of a sliver and columns of a register tile: the tile's accumulators, one sliver column and
/// one broadcast value fill the register file (32 registers with AVX-512, else 16).
inline constexpr int kSliverVectors = kLanes == 2 ? 2 : 3;
inline constexpr std::int64_t kSliverRows = kSliverVectors * kLanes;
inline constexpr int kTileCols = kLanes >= 8 ? 8 : 4;
static_assert(kSliverRows % kTileCols == 0);

}  // namespace lime::linalg
