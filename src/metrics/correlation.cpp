// SPDX-License-Identifier: Apache-2.0
#include "metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "core/errors.h"

namespace lime {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// 1 - r^2 below this is a rounding error.
constexpr double kRoundingNoise = 1e-12;

}  // namespace

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = 0.5 * static_cast<double>(i + 1 + end);
    i = end;
  }
  return ranks;
}

double pearson_correlation(std::span<const double> x, std::span<const double> y) {
  throw_if(x.size() != y.size() || x.size() < 2,
           "correlation: needs two samples of equal size >= 2, got {} and {}", x.size(), y.size());
  const auto mean = [](std::span<const double> values) {
    for (const double value : values) {
      if (!std::isfinite(value)) throw InvalidArgument("correlation: values must be finite");
    }
    return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
  };
  const double x_mean = mean(x);
  const double y_mean = mean(y);
  double xy = 0.0;
  double xx = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - x_mean) * (y[i] - y_mean);
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
  }
  if (!(xx > 0.0 && yy > 0.0)) return kNan;
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

double spearman_correlation(std::span<const double> x, std::span<const double> y) {
  return pearson_correlation(average_ranks(x), average_ranks(y));
}

double partial_spearman_correlation(std::span<const double> x, std::span<const double> y,
                                    std::span<const double> z) {
  const double xy = spearman_correlation(x, y);
  const double xz = spearman_correlation(x, z);
  const double yz = spearman_correlation(y, z);
  const double rest_x = 1.0 - xz * xz;
  const double rest_y = 1.0 - yz * yz;
  if (!(rest_x > kRoundingNoise && rest_y > kRoundingNoise)) return kNan;
  return std::clamp((xy - xz * yz) / std::sqrt(rest_x * rest_y), -1.0, 1.0);
}

}  // namespace lime
