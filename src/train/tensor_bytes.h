// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "checkpoint/safetensors.h"
#include "model/compute_type.h"
#include "model/decoder.h"

namespace lime {

/// The tensors in the memory of the processor, contiguous; copies only where needed.
std::vector<NamedTensor> tensors_on_cpu(const std::vector<NamedTensor>& tensors);

/// The tensors in the memory of the processor with elements of `type`, rounded to the nearest.
/// @throws NumericalError  that names the first tensor with an element too large for the type.
std::vector<NamedTensor> tensors_as(const std::vector<NamedTensor>& tensors, ComputeType type);

/// Views for the writers of the checkpoint module; valid as long as `tensors`.
/// @throws InvalidArgument  for an element type that safetensors has no name for here.
std::vector<TensorView> tensor_views(const std::vector<NamedTensor>& tensors);

/// A copy of a stored tensor.
/// @throws FormatError  unless it holds F64, F32, F16 or BF16.
at::Tensor tensor_of(const TensorView& view);

}  // namespace lime
