// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/workspace.h"

#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

namespace lime {

at::Tensor Workspace::get(Slot slot, at::IntArrayRef shape, const at::TensorOptions& options) {
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

}  // namespace lime
