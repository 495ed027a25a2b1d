// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/matrix.h"

namespace lime::testing {

/// Layers of points with outliers, the same as in tests/golden/make_tsne_grid_goldens.py, bit for
/// bit: a value is an integer divided by a constant, plus the outlier's offset.
struct LayeredPoints {
  bool is_clusters = false;  ///< six clusters of unequal sizes; else one
  std::int64_t points = 0;
  std::int64_t outliers = 0;  ///< of `factor` times the norm of a row, from layer 1 on
  double factor = 1.0;
  std::uint64_t seed = 0;

  /// Returns the points of a layer, [points, 24].
  MatrixF layer(int layer) const;
};

namespace layered_points_detail {

constexpr Eigen::Index kDim = 24;
constexpr int kFrame = 8;  // layers from one set of variates to the next
constexpr double kDeviation = 37837.0;
constexpr int kClusters = 6;
constexpr Eigen::Index kOutlierColumn = 3;

/// Returns the centred sum of the four 16-bit words of splitmix64.
inline std::int64_t words_sum(std::uint64_t seed, std::uint64_t frame, std::uint64_t row,
                              std::uint64_t column) {
  const std::uint64_t place = ((seed * 64 + frame) * 8192 + row) * 64 + column;
  std::uint64_t z = (place + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  z ^= z >> 31U;
  std::uint64_t sum = 0;
  for (const unsigned shift : {0U, 16U, 32U, 48U}) sum += (z >> shift) & 0xFFFFU;
  return static_cast<std::int64_t>(sum) - 2 * 65535;
}

}  // namespace layered_points_detail

inline MatrixF LayeredPoints::layer(int layer) const {
  using namespace layered_points_detail;
  const auto frame = static_cast<std::uint64_t>(layer / kFrame);
  const int eighths = layer % kFrame;
  MatrixF result(points, kDim);
  for (Eigen::Index r = 0; r < result.rows(); ++r) {
    const auto row = static_cast<std::uint64_t>(r);
    const auto cluster = static_cast<std::uint64_t>(
        std::min(std::countr_zero(static_cast<std::uint64_t>(r + 1)), kClusters - 1));
    for (Eigen::Index c = 0; c < kDim; ++c) {
      const auto column = static_cast<std::uint64_t>(c);
      std::int64_t sum = (kFrame - eighths) * words_sum(seed, frame, row, column) +
                         eighths * words_sum(seed, frame + 1, row, column);
      if (is_clusters) sum += 2 * kFrame * words_sum(seed, 63, 8191 - cluster, column);
      double value = static_cast<double>(sum) / (kFrame * kDeviation);
      if (layer > 0 && r < outliers && c == kOutlierColumn) {
        value += factor * (is_clusters ? 11.0 : 5.0);
      }
      result(r, c) = static_cast<float>(value);
    }
  }
  return result;
}

}  // namespace lime::testing
