// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "model/side_stream.h"

namespace lime {

/// The way from one stage of a decoder to the next, with streams of its own on both devices, so
/// that the copies run beside what is computed. Thread-safe.
class DeviceLink {
 public:
  DeviceLink(c10::Device from, c10::Device to);

  c10::Device from() const { return from_; }
  c10::Device to() const { return to_; }

  /// What has gone this way.
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

/// Carries what later layers need of one pass over a link.
///
///   Crossing crossing(link);             on the thread that computed it
///   x = crossing.carry(x); ...           the copies begin
///   crossing.arrive();                   on the thread that goes on: what it computes from now on
///                                        finds them done
///
/// No thread waits for a copy between GPUs. The processor copies at once, also where both devices
/// are the same: the memory left behind is free for the next pass.
class Crossing {
 public:
  explicit Crossing(DeviceLink& link);

  /// A copy on the other side; undefined for an undefined tensor.
  at::Tensor carry(const at::Tensor& tensor);
  /// Uninitialised memory on the other side, of the same shape, to be filled by carry_into().
  at::Tensor place_for(const at::Tensor& tensor);
  /// @param to  in memory of place_for()
  void carry_into(at::Tensor to, const at::Tensor& from);

  void arrive();

 private:
  DeviceLink& link_;
  StreamMark carried_;              // all copies so far
  std::vector<at::Tensor> places_;  // the memory over there
};

}  // namespace lime
