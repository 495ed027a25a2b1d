// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/activation_rows.h"
#include "core/running_statistics.h"

namespace lime {

/// Accumulates statistics over rows and copies them, in one pass over memory.
///
/// Per tile of at most 128 rows of one sequence, with its first row as shift s: mean = s + sum(x -
/// s) / n, m2 = sum((x - s)^2) - sum(x - s)^2 / n, in double; the tiles are merged in order
/// (RunningStatistics::merge), so results are bit-identical for any number of threads. Not
/// thread-safe; uses LibTorch's threads.
class RowAccumulator {
 public:
  /// @param lengths  tokens of each sequence; padding after them is ignored.
  /// @param copy     receives the concatenated rows, [sum of lengths, dim]; null for none.
  void add(const ActivationRows& rows, std::span<const std::int64_t> lengths, float* copy,
           RunningStatistics& statistics);

 private:
  struct Tile {
    std::int64_t sequence = 0;
    std::int64_t position = 0;
    std::int64_t count = 0;
    std::int64_t row = 0;  // in the copy
  };
  std::vector<Tile> tiles_;
  std::vector<double> moments_;  // per tile mean and m2
};

}  // namespace lime
