// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/input/input.h"
#include "checkpoint/decoder_spec.h"

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
std::vector<SequenceRange> plan_shards(const CaptureSize& size, std::int64_t batch_size,
                                       const ShardLimits& limits);

/// Returns the sequences per pass: `asked` if given, else 8, and for short sequences enough for
/// 4096 tokens. @param longest  tokens of the longest sequence, >= 1.
std::int64_t choose_batch_size(std::optional<std::int64_t> asked, std::int64_t longest);

/// Consecutive sequences whose rows are written together, and the passes that compute them.
struct CaptureWindow {
  SequenceRange range;
  /// Indices of the sequences of each pass; together they are the range.
  std::vector<std::vector<std::int64_t>> batches;
  /// For each sequence of the range the first one with the same ids, usually itself.
  std::vector<std::int64_t> duplicate_of;
};

struct WindowLimits {
  std::int64_t batch_size = 8;  ///< sequences per pass; of a sorted window, unless tokens are given
  /// Groups sequences of similar length into one pass, to reduce padding. If false, every pass is a
  /// window, in input order.
  bool sorts_by_length = false;
  /// Rotary embeddings of the model. Sequences that they rotate differently need separate passes,
  /// which would rotate all of them as the longest one.
  std::vector<RopeSpec> ropes = {};
  /// Equal sequences may have different activations, after an edit.
  bool keeps_duplicates = false;
  std::int64_t sequences = 1024;  ///< of a sorted window
  /// Tokens of a sorted pass, padding included; if not set, batch_size sequences.
  std::optional<std::int64_t> tokens = std::nullopt;
};

/// Splits `shard` into windows. Depends only on the input and the limits.
std::vector<CaptureWindow> plan_windows(const CaptureInput& input, SequenceRange shard,
                                        const WindowLimits& limits);

}  // namespace lime
