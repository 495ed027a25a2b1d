// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "checkpoint/safetensors.h"
#include "model/decoder.h"

namespace lime {

/// The tensors in the memory of the processor, contiguous; copies only where needed.
std::vector<NamedTensor> tensors_on_cpu(const std::vector<NamedTensor>& tensors);

/// Views for the writers of the checkpoint module; valid as long as `tensors`.
/// @throws InvalidArgument  for an element type that safetensors has no name for here.
std::vector<TensorView> tensor_views(const std::vector<NamedTensor>& tensors);

/// A copy of a stored tensor.
/// @throws FormatError  unless it holds F64, F32, F16 or BF16.
at::Tensor tensor_of(const TensorView& view);

}  // namespace lime
