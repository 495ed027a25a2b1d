// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "metrics/summary.h"

namespace lime {

/// Sums and differences closer than this, relative to the magnitudes, are equal up to rounding.
inline constexpr double kRoundingTie = 1e-12;

/// Random stream of tests by resampling, separate from those of the bootstrap (0, 1, ...
/// resamples - 1).
inline constexpr std::uint64_t kTestStream = std::uint64_t{1} << 63;

/// Checks options of a test by resampling, which needs at least 100 resamples.
/// @throws InvalidArgument  that names the first field at fault.
void check_resamples(const SummaryOptions& options);

}  // namespace lime
