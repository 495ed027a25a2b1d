// SPDX-License-Identifier: Apache-2.0
#include "capture/host_copy.h"

#include <ATen/Functions.h>

namespace lime {

HostCopy::HostCopy(const at::Tensor& activation, const SideStream& side) {
  const bool is_pinned = activation.is_cuda();
  host_ = at::empty(activation.sizes(),
                    at::TensorOptions(at::kFloat).device(at::kCPU).pinned_memory(is_pinned));
  side.follow(SideStream::current(activation.device()));
  side.keep(activation);
  const SideStreamScope scope({side});
  // Convert to dense float32 on the GPU first: a single transfer then fills the pinned tensor.
  const at::Tensor dense = is_pinned ? activation.to(at::kFloat).contiguous() : activation;
  host_.copy_(dense, /*non_blocking=*/is_pinned);
  copied_ = StreamMark(side);
}

const at::Tensor& HostCopy::get() const {
  copied_.wait();
  return host_;
}

}  // namespace lime
