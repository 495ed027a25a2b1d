// SPDX-License-Identifier: Apache-2.0
#include "capture/row_accumulator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

constexpr std::int64_t kTileRows = 128;
/// Rows read together: enough that the sums of a column are seldom reloaded, few enough for the CPU
/// to prefetch each row.
constexpr std::int64_t kGroupRows = 8;
constexpr std::int64_t kStripe = 32;  // columns whose sums stay in registers over a group
/// Cost per value of the statistics and the copy, counting a memory access as one operation.
constexpr std::int64_t kOperationsPerValue = 8;

/// Rows of one sequence.
struct TileSource {
  const float* rows = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  std::int64_t dim = 0;
  float* copy = nullptr;  // contiguous, or null

  const float* row(std::int64_t index) const { return rows + index * stride; }
};

/// Adds columns [column, column + Width) of rows [first, first + count) to sums of x - s and of (x
/// - s)^2, with s the tile's first row.
template <std::int64_t Width>
void add_stripe(const TileSource& tile, std::int64_t first, std::int64_t count, std::int64_t column,
                double* sum, double* square) {
  std::array<double, Width> sums;
  std::array<double, Width> squares;
  std::copy_n(sum + column, Width, sums.begin());
  std::copy_n(square + column, Width, squares.begin());
  const float* const shift = tile.rows + column;
  for (std::int64_t r = first; r < first + count; ++r) {
    const float* const row = tile.row(r) + column;
    if (tile.copy != nullptr) {
      std::memcpy(tile.copy + r * tile.dim + column, row, Width * sizeof(float));
    }
    for (std::size_t j = 0; j < Width; ++j) {
      const double deviation = static_cast<double>(row[j]) - static_cast<double>(shift[j]);
      sums[j] += deviation;
      squares[j] += deviation * deviation;
    }
  }
  std::copy_n(sums.begin(), Width, sum + column);
  std::copy_n(squares.begin(), Width, square + column);
}

/// Computes mean and m2 of a tile's columns; copies the tile at the same time.
void tile_moments(const TileSource& tile, double* mean, double* m2) {
  std::fill_n(mean, tile.dim, 0.0);
  std::fill_n(m2, tile.dim, 0.0);
  for (std::int64_t first = 0; first < tile.count; first += kGroupRows) {
    const std::int64_t count = std::min(kGroupRows, tile.count - first);
    std::int64_t column = 0;
    for (; column + kStripe <= tile.dim; column += kStripe) {
      add_stripe<kStripe>(tile, first, count, column, mean, m2);
    }
    for (; column < tile.dim; ++column) add_stripe<1>(tile, first, count, column, mean, m2);
  }
  const auto count = static_cast<double>(tile.count);
  for (std::int64_t j = 0; j < tile.dim; ++j) {
    const double sum = mean[j];
    mean[j] = static_cast<double>(tile.rows[j]) + sum / count;
    // Rounding may leave a tiny negative number; NaN must stay.
    const double rest = m2[j] - sum * sum / count;
    m2[j] = rest < 0.0 ? 0.0 : rest;
  }
}

}  // namespace

void RowAccumulator::add(const ActivationRows& rows, std::span<const std::int64_t> lengths,
                         float* copy, RunningStatistics& statistics) {
  tiles_.clear();
  std::int64_t num_rows = 0;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t start = 0; start < lengths[s]; start += kTileRows) {
      const std::int64_t count = std::min(kTileRows, lengths[s] - start);
      tiles_.push_back({static_cast<std::int64_t>(s), start, count, num_rows});
      num_rows += count;
    }
  }
  const std::int64_t dim = rows.dim();
  moments_.resize(tiles_.size() * static_cast<std::size_t>(2 * dim));
  for_each_tile(static_cast<std::int64_t>(tiles_.size()), kTileRows * dim * kOperationsPerValue,
                [&] {
                  return [&](std::int64_t i) {
                    const Tile& tile = tiles_[static_cast<std::size_t>(i)];
                    double* const mean = moments_.data() + i * 2 * dim;
                    tile_moments({.rows = rows.row(tile.sequence, tile.position),
                                  .stride = rows.row_stride(),
                                  .count = tile.count,
                                  .dim = dim,
                                  .copy = copy == nullptr ? nullptr : copy + tile.row * dim},
                                 mean, mean + dim);
                  };
                });
  const auto size = static_cast<std::size_t>(dim);
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const double* const mean = moments_.data() + i * 2 * size;
    statistics.merge(tiles_[i].count, {mean, size}, {mean + size, size});
  }
}

}  // namespace lime
