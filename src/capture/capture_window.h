// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/input.h"
#include "capture/shard_plan.h"

namespace lime {

/// Consecutive sequences whose rows are written together, and the passes that compute them.
struct CaptureWindow {
  SequenceRange range;
  /// Numbers of the sequences of each pass; together they are the range.
  std::vector<std::vector<std::int64_t>> batches;
  /// For each sequence of the range the first one of it with the same ids, mostly itself.
  std::vector<std::int64_t> twins;
};

/// How a shard is cut into windows.
struct WindowLimits {
  std::int64_t batch_size = 8;  ///< sequences per pass; of a sorted window, unless tokens are given
  /// Gathers sequences of like length into one pass, so that little is padding. Without it every
  /// pass is a window of its own, in the order of the input.
  bool sorts_by_length = false;
  std::int64_t sequences = 1024;  ///< of a sorted window
  /// Of a sorted pass, padding included; without a value batch_size sequences.
  std::optional<std::int64_t> tokens = std::nullopt;
};

/// Cuts `shard` into windows. Depends on the input and the limits only.
std::vector<CaptureWindow> plan_windows(const CaptureInput& input, SequenceRange shard,
                                        const WindowLimits& limits);

}  // namespace lime
