// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/input/input.h"
#include "capture/shard_plan.h"
#include "checkpoint/rope_spec.h"

namespace lime {

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
