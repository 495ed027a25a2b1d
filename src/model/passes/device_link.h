// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "model/passes/side_stream.h"

namespace lime {

/// Connection from one stage of a decoder to the next. It has its own streams on both devices, so
/// that copies overlap with computation. Thread-safe.
class DeviceLink {
 public:
  DeviceLink(c10::Device from, c10::Device to);

  c10::Device from() const { return from_; }
  c10::Device to() const { return to_; }

  /// Totals of the data transferred so far.
  struct Traffic {
    std::int64_t passes = 0;
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
  };
  Traffic traffic() const { return {passes_, tensors_, bytes_}; }

 private:
  friend class Crossing;

  const c10::Device from_;
  const c10::Device to_;
  const SideStream leaving_;
  const SideStream arriving_;
  std::atomic<std::int64_t> passes_ = 0;
  std::atomic<std::int64_t> tensors_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
};

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
  /// Returns uninitialised memory of the same shape on the target device, to be filled by
  /// carry_into().
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
