// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/threads/threads.h"

namespace lime {
namespace {

/// Below this fraction of the trace, distances from the mean are rounding errors of float.
constexpr double kRoundingShare = 1e-10;

/// Returns the lower median of the values above 0; 0 if there are none.
double median_above_zero(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !(value > 0.0); });
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Calls f(row number, row) for every row, in order.
template <typename F> void for_rows(RowCache& rows, const std::stop_token& stop, const F& f) {
  for (std::int64_t s = 0; s < rows.num_sequences(); ++s) {
    throw_if_stopped(stop);
    const MatrixF& own = rows.sequence(s);
    const std::int64_t first = rows.first_row(s);
    for (Eigen::Index r = 0; r < own.rows(); ++r)
      f(static_cast<std::size_t>(first + r), own.row(r));
  }
}

/// Sums over the rows that are not massive.
struct Moments {
  VectorD sum;
  VectorD squares;
  std::int64_t count = 0;

  VectorD mean() const { return sum / static_cast<double>(std::max<std::int64_t>(1, count)); }
};

Moments moments_of_others(RowCache& rows, const std::vector<bool>& is_massive,
                          const std::stop_token& stop) {
  Moments moments{VectorD::Zero(rows.dim()), VectorD::Zero(rows.dim())};
  for_rows(rows, stop, [&](std::size_t number, const auto& row) {
    if (is_massive[number]) return;
    const VectorD x = row.transpose().template cast<double>();
    moments.sum += x;
    moments.squares += x.cwiseAbs2();
    ++moments.count;
  });
  return moments;
}

/// Marks the rows whose length is at least `ratio` times the median length.
void mark(const std::vector<double>& squared, double ratio, std::vector<bool>& is_massive) {
  const double least = median_above_zero(squared) * ratio * ratio;
  if (!(least > 0.0)) return;
  for (std::size_t i = 0; i < squared.size(); ++i) {
    if (squared[i] >= least) is_massive[i] = true;
  }
}

/// Squared lengths of rows in the dimensions of `mask`, of the rows and of their distances from
/// `mean`.
struct SquaredLengths {
  std::vector<double> raw;
  std::vector<double> centred;
};

SquaredLengths squared_lengths(RowCache& rows, const VectorD& mean, const VectorD& mask,
                               const std::stop_token& stop) {
  SquaredLengths lengths;
  for_rows(rows, stop, [&](std::size_t, const auto& row) {
    const VectorD x = row.transpose().template cast<double>().cwiseProduct(mask);
    lengths.raw.push_back(x.squaredNorm());
    lengths.centred.push_back((x - mean.cwiseProduct(mask)).squaredNorm());
  });
  return lengths;
}

void mark_centred(const SquaredLengths& lengths, double ratio, std::vector<bool>& is_massive) {
  const double centred = std::reduce(lengths.centred.begin(), lengths.centred.end());
  const double raw = std::reduce(lengths.raw.begin(), lengths.raw.end());
  if (centred > kRoundingShare * raw) mark(lengths.centred, ratio, is_massive);
}

/// Returns the dimensions whose moments are at least ratio^2 times the median, at most
/// most_outlier_dimensions(), the largest share first.
std::vector<int> outlier_dimensions(const Moments& moments, double ratio) {
  const std::int64_t dim = moments.sum.size();
  const auto count = static_cast<double>(std::max<std::int64_t>(1, moments.count));
  const VectorD raw = moments.squares / count;
  const VectorD mean = moments.mean();
  VectorD variance = (raw - mean.cwiseAbs2()).cwiseMax(0.0);
  if (variance.sum() <= kRoundingShare * raw.sum()) variance.setZero();
  std::vector<std::pair<double, int>> found;
  const auto least_of = [&](const VectorD& moment) {
    const double median = median_above_zero({moment.begin(), moment.end()});
    return median > 0.0 ? median * ratio * ratio : std::numeric_limits<double>::infinity();
  };
  const double least_raw = least_of(raw);
  const double least_variance = least_of(variance);
  const double all_raw = std::max(raw.sum(), std::numeric_limits<double>::min());
  const double all_variance = std::max(variance.sum(), std::numeric_limits<double>::min());
  for (std::int64_t j = 0; j < dim; ++j) {
    if (raw[j] < least_raw && variance[j] < least_variance) continue;
    found.emplace_back(std::max(raw[j] / all_raw, variance[j] / all_variance), static_cast<int>(j));
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto most = static_cast<std::size_t>(most_outlier_dimensions(dim));
  if (found.size() > most) found.resize(most);
  std::vector<int> dimensions;
  for (const auto& [share, dimension] : found) dimensions.push_back(dimension);
  return dimensions;
}

}  // namespace

Outliers find_outliers(RowCache& rows, const CollapseOptions& options,
                       const std::stop_token& stop) {
  Outliers outliers;
  for_rows(rows, stop, [&](std::size_t, const auto& row) {
    outliers.squared_norm.push_back(row.template cast<double>().squaredNorm());
  });
  outliers.median_norm = std::sqrt(median_above_zero(outliers.squared_norm));
  throw_if(outliers.median_norm == 0.0, "collapse: all rows are zero");
  outliers.is_massive.assign(outliers.squared_norm.size(), false);
  std::vector<bool>& is_massive = outliers.is_massive;
  VectorD mask = VectorD::Ones(rows.dim());
  mark(outliers.squared_norm, options.massive_ratio, is_massive);
  const VectorD mean = moments_of_others(rows, is_massive, stop).mean();
  mark_centred(squared_lengths(rows, mean, mask, stop), options.massive_ratio, is_massive);
  const Moments others = moments_of_others(rows, is_massive, stop);
  outliers.dimensions = outlier_dimensions(others, options.dimension_ratio);
  if (outliers.dimensions.empty()) return outliers;
  for (const int dimension : outliers.dimensions) mask[dimension] = 0.0;
  const SquaredLengths rest = squared_lengths(rows, others.mean(), mask, stop);
  mark(rest.raw, options.massive_ratio, is_massive);
  mark_centred(rest, options.massive_ratio, is_massive);
  return outliers;
}

}  // namespace lime
