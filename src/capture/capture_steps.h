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

/// The sequences of a pass that belong to one shard, with what begins or ends at them.
struct ShardBatch {
  int shard = 0;
  /// Which of the shards that are written at once: 0-based, the same from its beginning to its end.
  std::size_t place = 0;
  /// False: an earlier run has written the shard. Its sequences are computed again, so that those
  /// of the others have the same pass as then.
  bool is_missing = true;
  std::shared_ptr<const CaptureWindow> window;
  CaptureBatch batch;
  bool begins_shard = false;
  bool begins_window = false;
  bool ends_window = false;
  bool ends_shard = false;
};

/// A pass of a capture. Its sequences are those of its parts, one after another.
struct CaptureStep {
  std::vector<ShardBatch> parts;  ///< of different shards; never empty

  std::vector<std::int64_t> sequences() const;
  std::vector<std::int64_t> lengths() const;
  std::int64_t num_tokens() const;
};

/// Iterates over the passes of one shard, in the order in which its rows are written.
class ShardSteps {
 public:
  /// @param setup  must outlive this
  ShardSteps(const CaptureSetup& setup, int shard, std::size_t place, bool is_missing);

  bool is_done() const { return window_ == windows_.size(); }
  /// Requires that it is not done.
  ShardBatch next();

 private:
  const CaptureSetup& setup_;
  int shard_;
  std::size_t place_;
  bool is_missing_;
  std::vector<std::shared_ptr<const CaptureWindow>> windows_;
  std::size_t window_ = 0;
  std::size_t batch_ = 0;
};

/// Iterates over the passes of the missing shards, in rounds of CaptureSetup::shards_at_once that
/// share every pass. Which sequences share a pass does not depend on which shards are missing.
class CaptureSteps {
 public:
  /// @param setup  must outlive this
  CaptureSteps(const CaptureSetup& setup, const std::vector<int>& missing_shards);

  /// Returns the tokens of all passes.
  std::int64_t num_tokens() const;
  std::optional<CaptureStep> next();

 private:
  std::size_t end_of_round(std::size_t first) const;
  /// Returns true if a shard of the round that begins with `first` is missing.
  bool has_missing(std::size_t first) const;
  /// @return false if there is no round left.
  bool begin_round();

  const CaptureSetup& setup_;
  std::vector<bool> is_missing_;  // by shard
  std::size_t next_shard_ = 0;    // the first of the next round
  std::vector<ShardSteps> round_;
};

/// Gives every step to two readers: the passes, which may run ahead on a thread of their own, and
/// the run, which stores what they compute. Each step is produced once, for the reader that is
/// ahead. Thread-safe.
class SharedCaptureSteps {
 public:
  enum class Reader : std::uint8_t { kPasses, kRun };

  explicit SharedCaptureSteps(CaptureSteps steps) : steps_(std::move(steps)) {}

  std::int64_t num_tokens() const { return steps_.num_tokens(); }
  /// Returns the next step of a reader; null after the last.
  std::shared_ptr<const CaptureStep> next(Reader reader);

 private:
  using Queue = std::deque<std::shared_ptr<const CaptureStep>>;

  std::mutex mutex_;
  CaptureSteps steps_;
  std::array<Queue, 2> waiting_;  // by reader: steps that only the other one has
};

}  // namespace lime
