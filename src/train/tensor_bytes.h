// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "checkpoint/safetensors.h"
#include "model/decoders/decoder.h"
#include "model/kernels/compute_type.h"

namespace lime {

/// Returns the tensors in CPU memory, contiguous; copies only if needed.
std::vector<NamedTensor> tensors_on_cpu(const std::vector<NamedTensor>& tensors);

/// Returns the tensors in CPU memory with elements of `type`, rounded to nearest.
/// @throws NumericalError  naming the first tensor with an element too large for the type.
std::vector<NamedTensor> tensors_as(const std::vector<NamedTensor>& tensors, ComputeType type);

/// Returns views for the writers of the checkpoint module; valid as long as `tensors`.
/// @throws InvalidArgument  for an element type not supported in safetensors here.
std::vector<TensorView> tensor_views(const std::vector<NamedTensor>& tensors);

/// Copies a stored tensor.
/// @throws FormatError  unless its type is F64, F32, F16 or BF16.
at::Tensor tensor_of(const TensorView& view);

}  // namespace lime
