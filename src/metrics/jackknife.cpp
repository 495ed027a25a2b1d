// SPDX-License-Identifier: Apache-2.0
#include "metrics/jackknife.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.h"
#include "metrics/pairs/minimal_pairs.h"

namespace lime {

std::vector<Block> cut_into_blocks(std::int64_t num_items, std::int64_t num_blocks) {
  if (num_blocks < kFewestBlocks || num_items < num_blocks) {
    throw InvalidArgument(
        "jackknife: number of blocks must be in [{}, {}], at most the number of items, got {}",
        kFewestBlocks, num_items, num_blocks);
  }
  std::vector<Block> blocks;
  for (std::int64_t g = 0; g < num_blocks; ++g) {
    blocks.push_back({g * num_items / num_blocks, (g + 1) * num_items / num_blocks});
  }
  return blocks;
}

Jackknife jackknife(double all, std::span<const double> without, double confidence) {
  const auto count = static_cast<std::int64_t>(without.size());
  if (count < kFewestBlocks) {
    throw InvalidArgument("jackknife: needs at least {} blocks, got {}", kFewestBlocks, count);
  }
  const bool finite = std::isfinite(all) && std::all_of(without.begin(), without.end(),
                                                        [](double v) { return std::isfinite(v); });
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

double student_quantile(double probability, std::int64_t degrees_of_freedom) {
  const double z = normal_quantile(probability);
  const double n = static_cast<double>(degrees_of_freedom);
  const double z2 = z * z;
  const double g1 = (z2 + 1.0) * z / 4.0;
  const double g2 = ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0;
  const double g3 = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0;
  const double g4 =
      ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) * z / 92160.0;
  return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

}  // namespace lime
