// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <atomic>
#include <cstdint>

#include "model/passes/side_stream.h"

namespace lime {

/// Connection between two stages, whose copies overlap with computation. Thread-safe.
class DeviceLink {
 public:
  DeviceLink(c10::Device from, c10::Device to);

  /// Totals of the data transferred so far.
  struct Traffic {
    std::int64_t passes = 0;
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
  };
  Traffic traffic() const { return {passes_, tensors_, bytes_}; }

 private:
  friend class Crossing;

  const c10::Device from_;
  const c10::Device to_;
  const SideStream leaving_;
  const SideStream arriving_;
  std::atomic<std::int64_t> passes_ = 0;
  std::atomic<std::int64_t> tensors_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
};

}  // namespace lime
