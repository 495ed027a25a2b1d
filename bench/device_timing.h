// SPDX-License-Identifier: Apache-2.0
#pragma once

// The clock and the memory of benchmarks that may run on a GPU, which works on while the thread
// that gave it the work goes on.

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/errors.h"
#include "core/memory.h"
#include "model/torch_compat.h"

namespace lime {

/// Waits until a device has done all that it was given; the processor always has.
inline void finish_on(c10::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

/// Seconds that a device computes: by its own events on a GPU, from when it begins with what comes
/// after start() to when it has done the last before stop(); by the clock elsewhere.
class DeviceTimer {
 public:
  explicit DeviceTimer(c10::Device device) : device_(device) {}

  void start() {
    finish_on(device_);
    if (has_events()) began_.emplace(event());
    start_ = std::chrono::steady_clock::now();
  }

  /// Waits for the device.
  double stop() {
    std::optional<c10::Event> ended;
    if (has_events()) ended.emplace(event());
    finish_on(device_);
    if (ended) return seconds_between(*began_, *ended);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  bool has_events() const { return kHasEventTimes && device_.is_cuda(); }

  /// One in the stream to which the calling thread gives its work.
  c10::Event event() const {
    c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    return event;
  }

  const c10::Device device_;
  std::optional<c10::Event> began_;
  std::chrono::steady_clock::time_point start_;
};

/// @throws InvalidArgument  if peak_memory_on() has no answer for the device.
inline void require_peak_memory(c10::Device device) {
  if (!device.is_cuda() || kHasAllocatorStatistics) return;
  throw InvalidArgument(
      "device: the peak memory of '{}' needs LibTorch 2.9 or later, got {}; build with that one or "
      "use cpu",
      device.str(), TORCH_VERSION);
}

/// Bytes: on a GPU the most that tensors held, elsewhere the most that the process held.
inline std::int64_t peak_memory_on(c10::Device device) {
  return device.is_cuda() ? peak_tensor_memory(device) : peak_resident_memory();
}

}  // namespace lime
