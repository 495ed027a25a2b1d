// SPDX-License-Identifier: Apache-2.0
#pragma once

// Clock and peak memory for benchmarks that may run on a GPU, which works asynchronously to the
// submitting thread.

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/errors.h"
#include "core/memory.h"
#include "model/kernels/torch_compat.h"

namespace lime {

inline constexpr bool kHasEventTimes = torch_is_at_least(2, 5);
inline constexpr bool kHasAllocatorStatistics = torch_is_at_least(2, 9);

/// Returns the seconds of device time between two events. Requires kHasEventTimes.
/// @param first, last  recorded with EventFlag::BACKEND_DEFAULT and already reached by the device
inline double seconds_between([[maybe_unused]] const c10::Event& first,
                              [[maybe_unused]] const c10::Event& last) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  return first.elapsedTime(last) * 1e-3;
#else
  return 0.0;
#endif
}

/// Returns torch.cuda's max_memory_allocated(). Requires kHasAllocatorStatistics.
inline std::int64_t peak_tensor_memory([[maybe_unused]] c10::Device gpu) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return at::getDeviceAllocator(gpu.type())->getDeviceStats(gpu.index()).allocated_bytes[kAll].peak;
#else
  return 0;
#endif
}

/// Waits until a device has finished all submitted work; returns immediately on the CPU.
inline void finish_on(c10::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

/// Measures seconds of computation: on a GPU between events around the work submitted from start()
/// to stop(), elsewhere with the clock.
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

  /// Records an event in the calling thread's current stream.
  c10::Event event() const {
    c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    return event;
  }

  const c10::Device device_;
  std::optional<c10::Event> began_;
  std::chrono::steady_clock::time_point start_;
};

/// @throws InvalidArgument  if peak_memory_on() is unsupported for the device.
inline void require_peak_memory(c10::Device device) {
  if (!device.is_cuda() || kHasAllocatorStatistics) return;
  throw InvalidArgument(
      "device: the peak memory of '{}' needs LibTorch 2.9 or later, got {}; build with that one or "
      "use cpu",
      device.str(), TORCH_VERSION);
}

/// Returns the peak memory in bytes: of tensors on a GPU, elsewhere of the process.
inline std::int64_t peak_memory_on(c10::Device device) {
  return device.is_cuda() ? peak_tensor_memory(device) : peak_resident_memory();
}

}  // namespace lime
