// SPDX-License-Identifier: Apache-2.0
#pragma once

// Differences between the supported versions of LibTorch: 1.13 (Debian 12) to the current 2.x.

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/Event.h>
#include <torch/version.h>

#include <optional>
#include <thread>

namespace lime {

/// Returns true for this version of LibTorch and later ones.
constexpr bool torch_is_at_least(int major, int minor) {
  return TORCH_VERSION_MAJOR > major ||
         (TORCH_VERSION_MAJOR == major && TORCH_VERSION_MINOR >= minor);
}
inline constexpr bool kHasFusedAttention = torch_is_at_least(2, 0);
/// at::_fused_adamw_ for the CPU and for CUDA.
inline constexpr bool kHasFusedAdamW = torch_is_at_least(2, 4);

#if TORCH_VERSION_MAJOR >= 2
using OptionalTensor = std::optional<at::Tensor>;
#else
using OptionalTensor = c10::optional<at::Tensor>;
#endif

/// Converts to LibTorch's optional argument: empty for an undefined tensor.
inline OptionalTensor optional_tensor(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : OptionalTensor();
}

/// Computes attention with LibTorch's fused kernels. Requires kHasFusedAttention.
/// @param q, k, v  [batch, num_heads, seq, head_dim]; `mask` is bool [queries, keys] or undefined
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

/// at::rms_norm, on a GPU one kernel with PyTorch 2.9 and later.
inline constexpr bool kHasRmsNorm = torch_is_at_least(2, 4);

/// Divides rows by their root mean square and multiplies by `weight`, if defined: computed in
/// float32 or wider, rounded once. Requires kHasRmsNorm.
inline at::Tensor fused_rms_norm([[maybe_unused]] const at::Tensor& x,
                                 [[maybe_unused]] const at::Tensor& weight,
                                 [[maybe_unused]] double eps) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  // Autocast would return float32 for a 16-bit x.
  return at::rms_norm(x, {x.size(-1)}, optional_tensor(weight), eps).to(x.scalar_type());
#else
  return {};
#endif
}

/// Blocks the calling thread until the device has reached the event.
inline void wait_for_event(const c10::Event& event) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  event.synchronize();
#else
  while (!event.query()) std::this_thread::yield();
#endif
}

/// While it exists and is `enabled`, LibTorch autocasts CUDA operations to bfloat16.
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
    at::autocast::clear_cache();  // of bfloat16 weights, which the next step changes
  }
  CudaAutocast(const CudaAutocast&) = delete;
  CudaAutocast& operator=(const CudaAutocast&) = delete;

  /// Returns true if the calling thread autocasts CUDA operations.
  static bool is_on() {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    return at::autocast::is_autocast_enabled(at::kCUDA);
#else
    return at::autocast::is_enabled();
#endif
  }

 private:
  const bool enabled_;
};

}  // namespace lime
