// SPDX-License-Identifier: Apache-2.0
#include "metrics/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "core/errors.h"

namespace lime {

double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

double normal_quantile(double probability) {
  throw_if(!(probability > 0.0 && probability < 1.0),
           "normal_quantile: the probability must be in (0, 1), got {}", probability);
  // Newton's method on the convex side, from the centre outwards, for the left tail.
  const double tail = std::min(probability, 1.0 - probability);
  double x = 0.0;
  for (int step = 0; step < 200; ++step) {
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
    // Newton in log(below) keeps the steps stable far out in the tail.
    const double change = below / density * std::log(below / tail);
    x -= change;
    if (std::abs(change) <= 1e-15 * std::max(1.0, std::abs(x))) break;
  }
  return probability < 0.5 ? x : -x;
}

double student_quantile(double probability, std::int64_t degrees_of_freedom) {
  const double twice = 2.0 * probability - 1.0;
  if (degrees_of_freedom == 1) return std::tan(0.5 * std::numbers::pi * twice);
  if (degrees_of_freedom == 2) return twice * std::sqrt(2.0 / (1.0 - twice * twice));
  if (degrees_of_freedom == 3) {
    // P(|T| < t) = 2 / pi (theta + sin theta cos theta), tan theta = t / sqrt(3).
    double low = -0.5 * std::numbers::pi;
    double high = -low;
    for (int i = 0; i < 100; ++i) {
      const double theta = 0.5 * (low + high);
      const double p = 2.0 / std::numbers::pi * (theta + std::sin(theta) * std::cos(theta));
      (p < twice ? low : high) = theta;
    }
    return std::sqrt(3.0) * std::tan(0.5 * (low + high));
  }
  const double z = normal_quantile(probability);
  const double n = static_cast<double>(degrees_of_freedom);
  const double z2 = z * z;
  const double g1 = (z2 + 1.0) * z / 4.0;
  const double g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0;
  const double g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0;
  const double g4 =
      ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) * z / 92160.0;
  return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

}  // namespace lime
