// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "capture/activation_collector.h"
#include "capture/capture_setup.h"
#include "capture/window_plan.h"

namespace lime {

/// A pass of a capture, with the shards and windows that begin or end at it.
struct CaptureStep {
  int shard = 0;
  std::shared_ptr<const CaptureWindow> window;
  CaptureBatch batch;
  bool begins_shard = false;
  bool begins_window = false;
  bool ends_window = false;
  bool ends_shard = false;
};

/// Iterates over the passes of some shards, in the order in which their rows are written.
class CaptureSteps {
 public:
  /// @param setup  must outlive this
  CaptureSteps(const CaptureSetup& setup, std::vector<int> shards);

  std::optional<CaptureStep> next();

 private:
  bool begin_shard();

  const CaptureSetup& setup_;
  std::vector<int> shards_;
  std::size_t shard_ = 0;                                      // the next one
  std::vector<std::shared_ptr<const CaptureWindow>> windows_;  // of the current shard
  std::size_t window_ = 0;
  std::size_t batch_ = 0;
};

/// Gives every step to two readers: the passes, which may run ahead on a thread of their own, and
/// the run, which stores what they compute. Each step is produced once, for the reader that is
/// ahead. Thread-safe.
class SharedCaptureSteps {
 public:
  enum class Reader : std::uint8_t { kPasses, kRun };

  explicit SharedCaptureSteps(CaptureSteps steps) : steps_(std::move(steps)) {}

  /// Returns the next step of a reader; null after the last.
  std::shared_ptr<const CaptureStep> next(Reader reader);

 private:
  using Queue = std::deque<std::shared_ptr<const CaptureStep>>;

  std::mutex mutex_;
  CaptureSteps steps_;
  std::array<Queue, 2> waiting_;  // by reader: steps that only the other one has
};

}  // namespace lime
