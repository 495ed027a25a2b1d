// SPDX-License-Identifier: Apache-2.0
#include "train/tensor_bytes.h"

#include <ATen/ATen.h>

#include <cstring>

#include "core/errors.h"

namespace lime {
namespace {

constexpr std::pair<Dtype, c10::ScalarType> kTypes[] = {{Dtype::kF64, c10::ScalarType::Double},
                                                        {Dtype::kF32, c10::ScalarType::Float},
                                                        {Dtype::kF16, c10::ScalarType::Half},
                                                        {Dtype::kBF16, c10::ScalarType::BFloat16}};

}  // namespace

std::vector<NamedTensor> tensors_on_cpu(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copies;
  copies.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    copies.push_back({name, tensor.detach().to(at::kCPU).contiguous()});
  }
  return copies;
}

std::vector<NamedTensor> tensors_as(const std::vector<NamedTensor>& tensors, ComputeType type) {
  std::vector<NamedTensor> copies = tensors_on_cpu(tensors);
  for (auto& [name, tensor] : copies) {
    if (tensor.scalar_type() == scalar_type(type)) continue;
    const at::Tensor rounded = tensor.to(scalar_type(type));
    if (!at::isfinite(rounded).all().item<bool>()) {
      throw NumericalError("tensor '{}': must fit into {}, got elements up to {:.4g}", name,
                           enum_name(type), tensor.abs().max().item<double>());
    }
    tensor = rounded;
  }
  return copies;
}

std::vector<TensorView> tensor_views(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorView> views;
  views.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto* const found =
        std::find_if(std::begin(kTypes), std::end(kTypes),
                     [&](const auto& type) { return type.second == tensor.scalar_type(); });
    if (found == std::end(kTypes)) {
      throw InvalidArgument("tensor '{}': must have a floating-point type, got {}", name,
                            c10::toString(tensor.scalar_type()));
    }
    views.push_back({name,
                     found->first,
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  }
  return views;
}

at::Tensor tensor_of(const TensorView& view) {
  for (const auto& [dtype, type] : kTypes) {
    if (dtype != view.dtype) continue;
    at::Tensor tensor = at::empty(view.shape, at::TensorOptions(type));
    std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
    return tensor;
  }
  throw FormatError("tensor '{}': must be F64, F32, F16 or BF16, got {}", view.name,
                    dtype_name(view.dtype));
}

}  // namespace lime
