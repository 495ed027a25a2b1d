// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>

#include <array>
#include <cstddef>
#include <cstdint>

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
    kExpertInputs,  ///< of the experts, sorted, as the next
    kExpertOutputs,
    kShared,    ///< output of the shared expert
    kParallel,  ///< input of a block whose MLP runs beside attention
    kBuffer,    ///< from earlier layers: keys and values, outputs, streams
    kRouted,    ///< result of mixing them
    kBeta,
    kCount  ///< number of slots: stays the last
  };

  /// Returns uninitialised memory of the slot as a contiguous tensor. It overwrites the tensor that
  /// get() last returned for the slot. On a GPU it is a new allocation each time: LibTorch's
  /// allocator caches freed memory and tracks the streams that still use it.
  at::Tensor get(Slot slot, at::IntArrayRef shape, const at::TensorOptions& options) {
    if (!options.device().is_cpu()) return at::empty(shape, options);
    at::Tensor& memory = memory_[static_cast<std::size_t>(slot)];
    const std::int64_t count = c10::multiply_integers(shape);
    if (!memory.defined() || memory.numel() < count || memory.dtype() != options.dtype() ||
        memory.device() != options.device()) {
      memory.reset();  // freed before allocating, so that the peak is one buffer, not two
      memory = at::empty({count}, options);
    }
    return memory.narrow(0, 0, count).view(shape);
  }

 private:
  std::array<at::Tensor, static_cast<std::size_t>(Slot::kCount)> memory_;
};

}  // namespace lime
