// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lime {

/// Returns the q-quantile of sorted values, interpolated linearly between the two nearest.
double quantile(std::span<const double> sorted, double q);

/// Returns the quantile of the standard normal distribution, 0 < p < 1, to 1e-12.
double normal_quantile(double probability);

/// Returns the quantile of Student's t-distribution, to 3e-3 relative for probabilities in [0.005,
/// 0.995]. Source: Abramowitz & Stegun (1964), 26.7.3 and 26.7.5.
double student_quantile(double probability, std::int64_t degrees_of_freedom);

}  // namespace lime
