// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lime {

struct SequenceRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool operator==(const SequenceRange&) const = default;
};

/// Maximum size of a shard, which is the unit that a killed run loses and that the writer syncs.
struct ShardLimits {
  std::int64_t tokens = 32768;
  std::int64_t bytes = std::int64_t{1} << 30;
};

struct CaptureSize {
  std::int64_t num_sequences = 0;
  std::int64_t num_tokens = 0;
  std::int64_t num_rows = 0;
  std::int64_t bytes_per_row = 0;  ///< of activations on disk
};

/// Splits the sequences into shards of whole batches, as many batches as the limits allow, at least
/// one. Depends only on the input and its options, not on the number of processes.
/// @param at_once  shards that are written at the same time, with a batch each: their number is a
///                 multiple of it where there are enough batches, and their sizes are similar.
std::vector<SequenceRange> plan_shards(const CaptureSize& size, std::int64_t batch_size,
                                       const ShardLimits& limits, std::int64_t at_once = 1);

/// Returns the sequences per pass: `asked` if given, else 8, and for short sequences enough for
/// 4096 tokens. @param longest  tokens of the longest sequence, >= 1.
std::int64_t choose_batch_size(std::optional<std::int64_t> asked, std::int64_t longest);

}  // namespace lime
