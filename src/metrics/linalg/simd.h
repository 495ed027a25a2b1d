// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/simd/vector.h"

namespace lime::linalg {

using simd::load;
using simd::store;
using simd::sum_of_lanes;

using Simd = simd::Vector<double>;
inline constexpr std::int64_t kLanes = simd::kLanes<double>;

/// Rows of a sliver and columns of a register tile: the tile's accumulators, one sliver column and
/// one broadcast value fill the register file (32 registers with AVX-512, else 16).
inline constexpr int kSliverVectors = kLanes == 2 ? 2 : 3;
inline constexpr std::int64_t kSliverRows = kSliverVectors * kLanes;
inline constexpr int kTileCols = kLanes >= 8 ? 8 : 4;
static_assert(kSliverRows % kTileCols == 0);

}  // namespace lime::linalg
