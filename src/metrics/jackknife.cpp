// SPDX-License-Identifier: Apache-2.0
#include "metrics/jackknife.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.h"
#include "metrics/quantiles.h"

namespace lime {

std::vector<Block> cut_into_blocks(std::int64_t num_items, std::int64_t num_blocks) {
  throw_if(num_blocks < kFewestBlocks || num_items < num_blocks,
           "jackknife: number of blocks must be in [{}, {}], at most the number of items, got {}",
           kFewestBlocks, num_items, num_blocks);
  std::vector<Block> blocks;
  for (std::int64_t g = 0; g < num_blocks; ++g) {
    blocks.push_back({g * num_items / num_blocks, (g + 1) * num_items / num_blocks});
  }
  return blocks;
}

Jackknife jackknife(double all, std::span<const double> without, double confidence) {
  const auto count = static_cast<std::int64_t>(without.size());
  throw_if(count < kFewestBlocks, "jackknife: needs at least {} blocks, got {}", kFewestBlocks,
           count);
  const bool finite =
      std::isfinite(all) && std::ranges::all_of(without, [](double v) { return std::isfinite(v); });
  if (!finite) throw InvalidArgument("jackknife: values must be finite");
  const auto blocks = static_cast<double>(count);
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / blocks;
  Jackknife result;
  double squares = 0.0;
  for (const double value : without) {
    squares += (value - mean) * (value - mean);
    result.pseudo_values.push_back(blocks * all - (blocks - 1.0) * value);
  }
  result.standard_error = std::sqrt((blocks - 1.0) / blocks * squares);
  const double reach = student_quantile(0.5 + confidence / 2.0, count - 1) * result.standard_error;
  result.ci_low = all - reach;
  result.ci_high = all + reach;
  return result;
}

}  // namespace lime
