// SPDX-License-Identifier: Apache-2.0
#include "capture/shard_plan.h"

#include <algorithm>

#include "model/kernels/parallel_tiles.h"

namespace lime {

std::vector<SequenceRange> plan_shards(const CaptureSize& size, std::int64_t batch_size,
                                       const ShardLimits& limits, std::int64_t at_once) {
  const std::int64_t sequences = std::max<std::int64_t>(size.num_sequences, 1);
  const auto per_batch = [&](std::int64_t total) {
    return static_cast<double>(total) * static_cast<double>(batch_size) /
           static_cast<double>(sequences);
  };
  const double tokens = per_batch(size.num_tokens);
  const double bytes = per_batch(size.num_rows) * static_cast<double>(size.bytes_per_row);
  const double fitting = std::min(static_cast<double>(limits.tokens) / std::max(tokens, 1.0),
                                  static_cast<double>(limits.bytes) / std::max(bytes, 1.0));
  std::int64_t batches = std::max<std::int64_t>(1, static_cast<std::int64_t>(fitting));
  if (at_once > 1) {
    const std::int64_t all = ceil_div(size.num_sequences, batch_size);
    const std::int64_t rounds = ceil_div(ceil_div(all, batches), at_once);
    batches = std::max<std::int64_t>(1, ceil_div(all, rounds * at_once));
  }
  std::vector<SequenceRange> shards;
  for (std::int64_t first = 0; first < size.num_sequences; first += batches * batch_size) {
    shards.push_back({first, std::min(batches * batch_size, size.num_sequences - first)});
  }
  return shards;
}

std::int64_t choose_batch_size(std::optional<std::int64_t> asked, std::int64_t longest) {
  constexpr std::int64_t kUsual = 8;
  constexpr std::int64_t kTokens = 4096;
  return asked ? *asked : std::max(kUsual, kTokens / longest);
}

}  // namespace lime
