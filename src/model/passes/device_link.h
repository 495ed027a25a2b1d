// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace lime {

// Asynchronous work of a GPU, in LibTorch's device-independent streams and events: needs no CUDA
// header, which a CPU build lacks. On the CPU, which is synchronous, all of this does nothing.

class StreamMark;

/// Queue of work on one device; queues run concurrently. A copy refers to the same queue.
class SideStream {
 public:
  /// Creates a new queue.
  explicit SideStream(c10::Device device);
  /// Returns the current stream of the calling thread.
  static SideStream current(c10::Device device);

  /// Makes later work of this stream wait for the work submitted to another one so far.
  void follow(const SideStream& other) const;
  void follow(const StreamMark& mark) const;

  /// Keeps the tensor's memory from being reused before the work of this stream is done.
  void keep(const at::Tensor& tensor) const;

 private:
  friend class StreamMark;
  friend class SideStreamScope;
  explicit SideStream(std::optional<c10::Stream> stream) : stream_(stream) {}

  std::optional<c10::Stream> stream_;  // none for the CPU
};

/// A position in a stream: all work submitted before it.
class StreamMark {
 public:
  StreamMark() = default;
  explicit StreamMark(const SideStream& stream);

  /// Waits until the device has reached this position.
  void wait() const;

 private:
  friend class SideStream;
  std::shared_ptr<const c10::Event> event_;  // null if there is nothing to wait for
};

/// Makes the given streams the calling thread's current streams for the scope.
class SideStreamScope {
 public:
  explicit SideStreamScope(std::initializer_list<SideStream> streams);

 private:
  static std::vector<c10::Stream> there(std::initializer_list<SideStream> streams);

  c10::MultiStreamGuard guard_;
};

/// Copies a tensor from CPU memory to a device without waiting for the device.
at::Tensor sent_to(c10::Device device, const at::Tensor& tensor);

/// Connection between two stages, whose copies overlap with computation. Thread-safe.
class DeviceLink {
 public:
  DeviceLink(c10::Device from, c10::Device to);

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
