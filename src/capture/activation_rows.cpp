// SPDX-License-Identifier: Apache-2.0
#include "capture/activation_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "core/errors.h"

namespace lime {
namespace {

constexpr std::int64_t kTileRows = 128;
constexpr std::int64_t kStripe = 32;  // columns at a time: their sums stay in registers

/// Sums of a tile's columns.
struct TileSource {
  const float* rows = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  std::int64_t dim = 0;
  float* copy = nullptr;  // contiguous, or null
};

/// Mean and m2 of columns [column, column + Width).
template <std::int64_t Width, bool kCopy>
void stripe_moments(const TileSource& tile, std::int64_t column, double* mean, double* m2) {
  std::array<double, Width> shift;
  std::array<double, Width> sum{};
  std::array<double, Width> square{};
  for (std::int64_t j = 0; j < Width; ++j) {
    shift[static_cast<std::size_t>(j)] = static_cast<double>(tile.rows[column + j]);
  }
  for (std::int64_t r = 0; r < tile.count; ++r) {
    const float* const row = tile.rows + r * tile.stride + column;
    if constexpr (kCopy) {
      std::memcpy(tile.copy + r * tile.dim + column, row, Width * sizeof(float));
    }
    for (std::size_t j = 0; j < Width; ++j) {
      const double deviation = static_cast<double>(row[j]) - shift[j];
      sum[j] += deviation;
      square[j] += deviation * deviation;
    }
  }
  const auto count = static_cast<double>(tile.count);
  for (std::size_t j = 0; j < Width; ++j) {
    mean[j] = shift[j] + sum[j] / count;
    // Rounding may leave a tiny negative number; NaN must stay.
    const double rest = square[j] - sum[j] * sum[j] / count;
    m2[j] = rest < 0.0 ? 0.0 : rest;
  }
}

template <bool kCopy>
void tile_moments(const TileSource& tile, double* mean, double* m2) {
  std::int64_t column = 0;
  for (; column + kStripe <= tile.dim; column += kStripe) {
    stripe_moments<kStripe, kCopy>(tile, column, mean + column, m2 + column);
  }
  for (; column < tile.dim; ++column) {
    stripe_moments<1, kCopy>(tile, column, mean + column, m2 + column);
  }
}

}  // namespace

ActivationRows::ActivationRows(const at::Tensor& activation)
    : tensor_(activation.detach().to(at::kCPU, at::kFloat)) {
  if (tensor_.dim() != 3 && tensor_.dim() != 4) {
    throw InvalidArgument("capture: an activation must have 3 or 4 dimensions, got {}",
                          tensor_.dim());
  }
  const bool rows_are_dense =
      tensor_.stride(-1) == 1 && (tensor_.dim() == 3 || tensor_.stride(2) == tensor_.size(3));
  if (!rows_are_dense) tensor_ = tensor_.contiguous();
  batch_ = tensor_.size(0);
  seq_ = tensor_.size(1);
  dim_ = tensor_.size(2) * (tensor_.dim() == 4 ? tensor_.size(3) : 1);
  sequence_stride_ = tensor_.stride(0);
  row_stride_ = tensor_.stride(1);
  data_ = tensor_.data_ptr<float>();
}

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
  at::parallel_for(0, static_cast<std::int64_t>(tiles_.size()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const Tile& tile = tiles_[static_cast<std::size_t>(i)];
                       double* const mean = moments_.data() + i * 2 * dim;
                       TileSource source{.rows = rows.row(tile.sequence, tile.position),
                                         .stride = rows.row_stride(),
                                         .count = tile.count,
                                         .dim = dim};
                       if (copy == nullptr) {
                         tile_moments<false>(source, mean, mean + dim);
                       } else {
                         source.copy = copy + tile.row * dim;
                         tile_moments<true>(source, mean, mean + dim);
                       }
                     }
                   });
  RunningStatistics part;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const double* const mean = moments_.data() + i * static_cast<std::size_t>(2 * dim);
    part.count = tiles_[i].count;
    part.mean = Eigen::Map<const VectorD>(mean, dim);
    part.m2 = Eigen::Map<const VectorD>(mean + dim, dim);
    statistics.merge(part);
  }
}

void gather_rows(const ActivationRows& rows, std::span<const std::int32_t> sequences,
                 std::span<const std::int32_t> positions, float* to) {
  const auto dim = static_cast<std::size_t>(rows.dim());
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::memcpy(to + i * dim, rows.row(sequences[i], positions[i]), dim * sizeof(float));
  }
}

void mean_rows(const ActivationRows& rows, std::span<const std::vector<std::uint8_t>> counts,
               float* to) {
  const std::int64_t dim = rows.dim();
  at::parallel_for(
      0, static_cast<std::int64_t>(counts.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        VectorD sum(dim);
        for (std::int64_t s = begin; s < end; ++s) {
          const std::vector<std::uint8_t>& counted = counts[static_cast<std::size_t>(s)];
          sum.setZero();
          for (std::size_t t = 0; t < counted.size(); ++t) {
            if (counted[t] == 0) continue;
            sum += Eigen::Map<const Eigen::VectorXf>(rows.row(s, static_cast<std::int64_t>(t)), dim)
                       .cast<double>();
          }
          const auto number = std::accumulate(counted.begin(), counted.end(), 0.0);
          Eigen::Map<Eigen::VectorXf>(to + s * dim, dim) = (sum / number).cast<float>();
        }
      });
}

}  // namespace lime
