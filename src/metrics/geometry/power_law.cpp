// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/power_law.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "core/errors.h"
#include "core/options.h"

namespace lime {
namespace {

double mean_weighted_by_rank(const std::vector<double>& values, std::int64_t first) {
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = 1.0 / static_cast<double>(first + static_cast<std::int64_t>(i));
    sum += weight * values[i];
    weights += weight;
  }
  return sum / weights;
}

/// Fits alpha and r2 to the singular values `sigma`, descending.
PowerLaw fit_range(const std::vector<double>& sigma, const PowerLawRange& range) {
  std::vector<double> x;
  std::vector<double> y;
  for (std::int64_t j = range.first; j <= range.last; ++j) {
    x.push_back(std::log(static_cast<double>(j)));
    y.push_back(2.0 * std::log(sigma[static_cast<std::size_t>(j - 1)]));
  }
  const double x_mean = mean_weighted_by_rank(x, range.first);
  const double y_mean = mean_weighted_by_rank(y, range.first);
  const double plain_mean = std::reduce(y.begin(), y.end()) / static_cast<double>(y.size());
  std::vector<double> xx;
  std::vector<double> xy;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx.push_back((x[i] - x_mean) * (x[i] - x_mean));
    xy.push_back((x[i] - x_mean) * (y[i] - y_mean));
  }
  PowerLaw law;
  law.alpha = -mean_weighted_by_rank(xy, range.first) / mean_weighted_by_rank(xx, range.first);
  double residual = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double fitted = y_mean - law.alpha * (x[i] - x_mean);
    residual += (y[i] - fitted) * (y[i] - fitted);
    total += (y[i] - plain_mean) * (y[i] - plain_mean);
  }
  law.r2 = total > 0.0 ? 1.0 - residual / total : 1.0;
  return law;
}

}  // namespace

std::vector<double> singular_values(std::span<const double> eigenvalues, std::int64_t count) {
  std::vector<double> values;
  for (const double eigenvalue : eigenvalues) {
    throw_if(!std::isfinite(eigenvalue), "spectrum: eigenvalues must be finite, got {}",
             eigenvalue);
    values.push_back(std::sqrt(std::max(eigenvalue, 0.0)));
  }
  std::ranges::sort(values, std::greater<>());
  if (static_cast<std::int64_t>(values.size()) > count) {
    values.resize(static_cast<std::size_t>(count));
  }
  return values;
}

void PowerLawRange::validate() const {
  check_option(first >= 1, "power_law_first", ">= 1", first);
  throw_if(last < first + 3, OptionName("power_law_last"),
           "must be at least {}, because a range has 4 eigenvalues or more, got {}", first + 3,
           last);
}

PowerLaw fit_power_law(std::span<const double> eigenvalues, std::int64_t dim,
                       const PowerLawRange& range) {
  range.validate();
  const std::vector<double> sigma = singular_values(eigenvalues, std::ssize(eigenvalues));
  std::int64_t rank = 0;
  const double noise = static_cast<double>(dim) * std::numeric_limits<float>::epsilon();
  for (const double value : sigma) rank += value > noise * sigma.front() ? 1 : 0;
  throw_if(
      range.last > rank, OptionName("power_law_last"),
      "must be at most {}, the rank of the covariance, got {}; use a smaller range, or more rows",
      rank, range.last);
  PowerLaw law = fit_range(sigma, range);
  const auto middle = std::clamp(
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(range.first * range.last))),
      range.first + 1, range.last - 2);
  law.head = fit_range(sigma, {range.first, middle}).alpha;
  law.tail = fit_range(sigma, {middle + 1, range.last}).alpha;
  return law;
}

}  // namespace lime
