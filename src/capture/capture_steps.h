// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capture/activation_collector.h"
#include "capture/capture_setup.h"
#include "capture/capture_window.h"

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

/// Iterates over the passes of some shards, in the order in which their rows are written. All
/// iterators produce the same steps.
class CaptureSteps {
 public:
  /// @param setup  must outlive this
  CaptureSteps(const CaptureSetup& setup, std::vector<int> shards);

  /// Returns the next pass, or nothing after the last.
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

}  // namespace lime
