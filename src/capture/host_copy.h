// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "model/side_stream.h"

namespace lime {

/// A copy of an activation in this machine's memory, as float32.
///
/// From a GPU it goes into pinned memory on a stream beside the computation, which never waits for
/// it; the activation's memory is kept until it is done. From the processor it is made at once.
class HostCopy {
 public:
  /// @param side  of the activation's device
  HostCopy(const at::Tensor& activation, const SideStream& side);

  /// The copy, contiguous; waits until it is there.
  const at::Tensor& get() const;
  std::size_t bytes() const { return host_.nbytes(); }

 private:
  at::Tensor host_;
  StreamMark copied_;
};

}  // namespace lime
