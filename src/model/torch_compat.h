// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that differs between the versions of LibTorch that we build against: 1.13 (Debian 12) to
// the current 2.x.

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>

namespace lime {

#if TORCH_VERSION_MAJOR >= 2
inline constexpr bool kHasFusedAttention = true;
using OptionalTensor = std::optional<at::Tensor>;
#else
inline constexpr bool kHasFusedAttention = false;
using OptionalTensor = c10::optional<at::Tensor>;
#endif

/// LibTorch's optional argument: nothing for an undefined tensor.
inline OptionalTensor optional_tensor(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : OptionalTensor();
}

/// softmax(q k^T / sqrt(head_dim) + mask) v by LibTorch's fused kernels; to be called only where
/// kHasFusedAttention.
/// @param q, k, v  [batch, num_heads, seq, head_dim]
/// @param mask     bool [queries, keys], true where a query may look; undefined for none
inline at::Tensor fused_attention([[maybe_unused]] const at::Tensor& q,
                                  [[maybe_unused]] const at::Tensor& k,
                                  [[maybe_unused]] const at::Tensor& v,
                                  [[maybe_unused]] const at::Tensor& mask,
                                  [[maybe_unused]] bool is_causal) {
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(q, k, v, optional_tensor(mask), 0.0, is_causal);
#else
  return {};
#endif
}

/// Lets the calling thread wait until a device has come to the event.
inline void wait_for_event(const c10::Event& event) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  event.synchronize();
#else
  while (!event.query()) std::this_thread::yield();
#endif
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
inline constexpr bool kHasEventTimes = true;
#else
inline constexpr bool kHasEventTimes = false;
#endif

/// Seconds that a device took from one event to another, to be called only where kHasEventTimes.
/// @param first, last  recorded with EventFlag::BACKEND_DEFAULT, and the device has come to both
inline double seconds_between([[maybe_unused]] const c10::Event& first,
                              [[maybe_unused]] const c10::Event& last) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  return first.elapsedTime(last) * 1e-3;
#else
  return 0.0;
#endif
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
inline constexpr bool kHasAllocatorStatistics = true;
#else
inline constexpr bool kHasAllocatorStatistics = false;
#endif

/// The most bytes that tensors of this process ever held on a GPU, as torch.cuda's
/// max_memory_allocated(); to be called only where kHasAllocatorStatistics.
inline std::int64_t peak_tensor_memory([[maybe_unused]] c10::Device gpu) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return at::getDeviceAllocator(gpu.type())->getDeviceStats(gpu.index()).allocated_bytes[kAll].peak;
#else
  return 0;
#endif
}

/// While it lives and `enabled`, LibTorch computes on CUDA in bfloat16 where that is safe.
class CudaAutocast {
 public:
  explicit CudaAutocast(bool enabled) : enabled_(enabled) {
    if (!enabled_) return;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_dtype(at::kCUDA, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCUDA, true);
#else
    at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(true);
#endif
  }
  ~CudaAutocast() {
    if (!enabled_) return;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_enabled(at::kCUDA, false);
#else
    at::autocast::set_enabled(false);
#endif
    at::autocast::clear_cache();  // of weights in bfloat16, which the next step changes
  }
  CudaAutocast(const CudaAutocast&) = delete;
  CudaAutocast& operator=(const CudaAutocast&) = delete;

 private:
  const bool enabled_;
};

}  // namespace lime
