// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <vector>

#include "model/passes/device_link.h"
#include "model/passes/side_stream.h"

namespace lime {

/// Transfers what later layers need of one pass over a link.
///
///   Crossing crossing(link);             on the thread that computed it
///   x = crossing.carry(x); ...           the copies begin
///   crossing.arrive();                   on the thread that continues: its later computations
///                                        see the finished copies
///
/// No thread waits for a copy between GPUs. The CPU copies immediately, also if both devices are
/// the same: the source memory is free for the next pass.
class Crossing {
 public:
  explicit Crossing(DeviceLink& link);

  /// Returns a copy on the target device; undefined for an undefined tensor.
  at::Tensor carry(const at::Tensor& tensor);
  /// Returns uninitialised memory of the same shape on the target device, for carry_into().
  at::Tensor place_for(const at::Tensor& tensor);
  /// Copies `from` into `to`, memory returned by place_for().
  void carry_into(at::Tensor to, const at::Tensor& from);

  void arrive();

 private:
  DeviceLink& link_;
  StreamMark carried_;              // all copies so far
  std::vector<at::Tensor> places_;  // memory on the target device
};

}  // namespace lime
