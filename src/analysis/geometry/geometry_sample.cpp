// SPDX-License-Identifier: Apache-2.0
#include "analysis/geometry/geometry_sample.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "core/errors.h"
#include "core/random.h"

namespace lime {
namespace {

/// Streams of the seed.
constexpr std::uint64_t kNeighborStream = 1;
constexpr std::uint64_t kClassStream = 2;

/// Puts `count` items drawn without replacement in front, and drops the others.
template <typename T>
void draw(std::vector<T>& items, std::size_t count, Random& random) {
  for (std::size_t i = 0; i < count && i < items.size(); ++i) {
    const auto left = static_cast<std::uint64_t>(items.size() - i);
    std::swap(items[i], items[i + static_cast<std::size_t>(random.below(left))]);
  }
  if (items.size() > count) items.resize(count);
}

}  // namespace

std::vector<std::int64_t> draw_rows(std::int64_t total, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(total));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  if (count >= total) return rows;
  Random random = Random(seed).fork(kNeighborStream);
  draw(rows, static_cast<std::size_t>(count), random);
  std::sort(rows.begin(), rows.end());
  return rows;
}

TokenClasses draw_token_classes(const CaptureReader& capture, std::int64_t num_rows,
                                const TokenClassOptions& options, std::uint64_t seed) {
  std::map<std::int32_t, std::vector<std::int64_t>> occurrences;
  const std::vector<std::int32_t>& tokens = capture.rows().token;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    occurrences[tokens[static_cast<std::size_t>(row)]].push_back(row);
  }
  std::vector<std::int32_t> frequent;
  for (const auto& [token, rows] : occurrences) {
    if (static_cast<std::int64_t>(rows.size()) >= options.size) frequent.push_back(token);
  }
  if (frequent.size() < 2) {
    throw InvalidArgument(
        "lidar_size: at least 2 tokens must occur {} times, got {}; use a smaller --lidar-size or "
        "capture more text",
        options.size, frequent.size());
  }
  Random random = Random(seed).fork(kClassStream);
  draw(frequent, static_cast<std::size_t>(options.count), random);
  std::sort(frequent.begin(), frequent.end());
  TokenClasses classes;
  classes.num_classes = static_cast<std::int64_t>(frequent.size());
  for (const std::int32_t token : frequent) {
    std::vector<std::int64_t>& rows = occurrences[token];
    draw(rows, static_cast<std::size_t>(options.size), random);
    std::sort(rows.begin(), rows.end());
    classes.rows.insert(classes.rows.end(), rows.begin(), rows.end());
  }
  return classes;
}

MatrixF RowsToKeep::pick(const MatrixF& kept, const std::vector<std::int64_t>& wanted) const {
  MatrixF rows(static_cast<Eigen::Index>(wanted.size()), kept.cols());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto place = std::lower_bound(all.begin(), all.end(), wanted[i]) - all.begin();
    rows.row(static_cast<Eigen::Index>(i)) = kept.row(place);
  }
  return rows;
}

RowsToKeep rows_to_keep(const CaptureReader& capture, std::int64_t num_rows,
                        const GeometryAnalysisOptions& options, std::uint64_t seed) {
  RowsToKeep keep;
  if (options.wants(GeometryGroup::kDimension)) {
    keep.neighbors = draw_rows(num_rows, options.neighbor_rows, seed);
  }
  if (options.wants(GeometryGroup::kLidar)) {
    keep.classes = draw_token_classes(capture, num_rows, options.token_classes, seed);
  }
  keep.all = keep.neighbors;
  keep.all.insert(keep.all.end(), keep.classes.rows.begin(), keep.classes.rows.end());
  std::sort(keep.all.begin(), keep.all.end());
  keep.all.erase(std::unique(keep.all.begin(), keep.all.end()), keep.all.end());
  return keep;
}

}  // namespace lime
