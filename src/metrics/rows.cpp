// SPDX-License-Identifier: Apache-2.0
#include "metrics/rows.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>

namespace lime {
namespace {

constexpr std::uint64_t kNeighborStream = 1;
constexpr std::uint64_t kClassStream = 2;

/// Puts `count` items drawn without replacement in front, and drops the others.
template <typename T> void draw(std::vector<T>& items, std::size_t count, Random& random) {
  for (std::size_t i = 0; i < count && i < items.size(); ++i) {
    const auto left = static_cast<std::uint64_t>(items.size() - i);
    std::swap(items[i], items[i + static_cast<std::size_t>(random.below(left))]);
  }
  if (items.size() > count) items.resize(count);
}

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
  draw(rows, static_cast<std::size_t>(count), random);
  std::ranges::sort(rows);
  return rows;
}

TokenClasses draw_token_classes(std::span<const std::int32_t> tokens, std::int64_t size,
                                std::int64_t count, std::uint64_t seed) {
  std::map<std::int32_t, std::vector<std::int64_t>> occurrences;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    occurrences[tokens[row]].push_back(static_cast<std::int64_t>(row));
  }
  std::vector<std::int32_t> frequent;
  for (const auto& [token, rows] : occurrences) {
    if (static_cast<std::int64_t>(rows.size()) >= size) frequent.push_back(token);
  }
  throw_if(
      frequent.size() < 2,
      "lidar_size: at least 2 tokens must occur {} times, got {}; use a smaller --lidar-size or "
      "capture more text",
      size, frequent.size());
  Random random = Random(seed).fork(kClassStream);
  draw(frequent, static_cast<std::size_t>(count), random);
  std::ranges::sort(frequent);
  TokenClasses classes;
  classes.num_classes = static_cast<std::int64_t>(frequent.size());
  for (const std::int32_t token : frequent) {
    std::vector<std::int64_t>& rows = occurrences[token];
    draw(rows, static_cast<std::size_t>(size), random);
    std::ranges::sort(rows);
    classes.rows.insert(classes.rows.end(), rows.begin(), rows.end());
  }
  return classes;
}

}  // namespace lime
