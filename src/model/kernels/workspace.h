// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace lime {

/// Buffers for the intermediate results of a forward pass, reused across layers and passes so that
/// the system neither allocates nor zeroes memory again. Give each thread its own.
class Workspace {
 public:
  enum class Slot {
    kNormalized,
    kProjections,
    kQueryNorm,
    kKeyNorm,
    kAttention,
    kGateUp,
    kActivation,
    kOutput,
    kParallel,  ///< input of a block whose MLP runs beside attention
    kBuffer,    ///< from earlier layers: keys and values, outputs, streams
    kRouted,    ///< result of mixing them
    kBeta
  };
  static constexpr std::size_t kNumSlots = 12;

  /// Returns uninitialised memory of the slot as a contiguous tensor. It overwrites the tensor that
  /// get() last returned for the slot. On a GPU it is a new allocation each time: LibTorch's
  /// allocator caches freed memory and tracks the streams that still use it.
  at::Tensor get(Slot slot, at::IntArrayRef shape, const at::TensorOptions& options);

 private:
  std::array<at::Tensor, kNumSlots> memory_;
};

}  // namespace lime
