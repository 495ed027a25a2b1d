// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/significance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include "core/errors.h"
#include "metrics/correlation.h"

namespace lime {
namespace {

/// Returns P(X > x) of the chi-squared distribution, by the series or the continued fraction of the
/// incomplete gamma function. Source: Abramowitz & Stegun (1964), 6.5.29 and 6.5.31.
double chi_squared_tail(double x, double degrees_of_freedom) {
  const double a = degrees_of_freedom / 2.0;
  const double z = x / 2.0;
  if (!(z > 0.0)) return 1.0;
  const double scale = std::exp(a * std::log(z) - z - std::lgamma(a));
  if (z < a + 1.0) {
    double term = 1.0 / a;
    double sum = term;
    for (double n = a + 1.0; term > 1e-17 * sum; n += 1.0) sum += term *= z / n;
    return 1.0 - scale * sum;
  }
  double tail = 0.0;
  for (int n = 500; n >= 1; --n) tail = n * (n - a) / (z + 2.0 * n + 1.0 - a - tail);
  return scale / (z + 1.0 - a - tail);
}

}  // namespace

double mcnemar_exact(std::int64_t first, std::int64_t second) {
  const auto n = static_cast<double>(first + second);
  double sum = 0.0;
  for (std::int64_t i = 0; i <= std::min(first, second); ++i) {
    const auto k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) -
                    n * std::numbers::ln2);
  }
  return std::min(1.0, 2.0 * sum);
}

double kruskal_wallis_p(std::span<const std::vector<double>> groups) {
  std::vector<double> all;
  for (const std::vector<double>& group : groups) {
    if (group.empty()) throw InvalidArgument("kruskal_wallis: a group is empty");
    all.insert(all.end(), group.begin(), group.end());
  }
  throw_if(groups.size() < 2, "kruskal_wallis: needs at least 2 groups, got {}", groups.size());
  const std::vector<double> ranks = average_ranks(all);
  const auto n = static_cast<double>(all.size());
  double between = 0.0;
  std::size_t place = 0;
  for (const std::vector<double>& group : groups) {
    const auto begin = ranks.begin() + static_cast<std::ptrdiff_t>(place);
    const double sum = std::accumulate(begin, begin + std::ssize(group), 0.0);
    between += sum * sum / static_cast<double>(group.size());
    place += group.size();
  }
  // Ties: divide by 1 - sum (t^3 - t) / (n^3 - n).
  std::ranges::sort(all);
  double ties = 0.0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end] == all[i]) ++end;
    const auto t = static_cast<double>(end - i);
    ties += t * t * t - t;
    i = end;
  }
  const double correction = 1.0 - ties / (n * n * n - n);
  if (!(correction > 0.0)) return 1.0;
  const double h = (12.0 / (n * (n + 1.0)) * between - 3.0 * (n + 1.0)) / correction;
  return chi_squared_tail(h, static_cast<double>(groups.size() - 1));
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  for (const double p : p_values) {
    if (!(p >= 0.0 && p <= 1.0)) throw InvalidArgument("holm: p must be in [0, 1], got {}", p);
  }
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0.0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto tests_left = static_cast<double>(order.size() - k);
    largest = std::max(largest, std::min(1.0, tests_left * p_values[order[k]]));
    adjusted[order[k]] = largest;
  }
  return adjusted;
}

}  // namespace lime
