// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace lime {

/// Copies a tensor from CPU memory to a device without waiting for the device.
inline at::Tensor sent_to(c10::Device device, const at::Tensor& tensor) {
  if (!device.is_cuda() || !tensor.is_cpu()) return tensor.to(device);
  return tensor.pin_memory().to(device, tensor.scalar_type(), /*non_blocking=*/true);
}

}  // namespace lime
