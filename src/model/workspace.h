// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

namespace lime {

/// Intermediate results of a forward pass, kept from layer to layer and from pass to pass so that
/// memory is neither asked for nor cleared by the system again. Give each thread its own.
class Workspace {
 public:
  enum class Slot {
    kNormalized,
    kProjections,
    kAttention,
    kGateUp,
    kActivation,
    kOutput,
    kBuffer,  ///< what earlier layers left: keys and values, outputs, streams
    kRouted,  ///< what was mixed of it
    kBeta
  };
  static constexpr std::size_t kNumSlots = 9;

  /// Uninitialised memory of the slot, as a contiguous tensor. What get() of the same slot
  /// returned before is overwritten by the next user. On a GPU it is new memory each time:
  /// LibTorch keeps that of old tensors itself, and knows which streams still read it.
  at::Tensor get(Slot slot, at::IntArrayRef shape, const at::TensorOptions& options);

 private:
  std::array<at::Tensor, kNumSlots> memory_;
};

}  // namespace lime
