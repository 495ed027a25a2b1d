// SPDX-License-Identifier: Apache-2.0
#include "metrics/rows.h"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace lime {
namespace {

constexpr std::uint64_t kNeighborStream = 1;  // views.cpp has stream 2

}  // namespace

void check_finite_rows(const ConstMatrixRef& points) {
  for (Eigen::Index row = 0; row < points.rows(); ++row) {
    // x * 0 is 0 for finite x and NaN else; the sum is much faster than a test per value.
    if ((points.row(row) * 0.0F).sum() == 0.0F) continue;
    for (Eigen::Index col = 0; col < points.cols(); ++col) {
      if (std::isfinite(points(row, col))) continue;
      throw InvalidArgument(
          "rows must be finite, got {} in row {}, dimension {}; check the model for overflow",
          points(row, col), row, col);
    }
  }
}

std::vector<std::int64_t> sample_rows(std::int64_t total, std::int64_t count, Random random) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(total));
  std::iota(rows.begin(), rows.end(), 0);
  random.shuffle(std::span(rows));
  rows.resize(static_cast<std::size_t>(std::min(count, total)));
  std::ranges::sort(rows);
  return rows;
}

std::vector<std::int64_t> draw_rows(std::int64_t total, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(total));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  if (count >= total) return rows;
  Random random = Random(seed).fork(kNeighborStream);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::swap(rows[i], rows[i + random.below(rows.size() - i)]);
  }
  rows.resize(static_cast<std::size_t>(count));
  std::ranges::sort(rows);
  return rows;
}

}  // namespace lime
