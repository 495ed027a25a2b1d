// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "model/passes/side_stream.h"

namespace lime {

/// Copy of an activation in CPU memory, as float32.
///
/// From a GPU it is copied to pinned memory on a side stream, for which the computation never
/// waits; the activation's memory is kept until the copy is done. From the CPU it is copied
/// immediately.
class HostCopy {
 public:
  /// @param side  of the activation's device
  HostCopy(const at::Tensor& activation, const SideStream& side);

  /// Waits for the copy and returns it, contiguous.
  const at::Tensor& get() const;
  std::size_t bytes() const { return host_.nbytes(); }

 private:
  at::Tensor host_;
  StreamMark copied_;
};

}  // namespace lime
