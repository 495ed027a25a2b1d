// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace lime {

class StreamMark;

// Asynchronous work of a GPU, in LibTorch's device-independent streams and events: needs no CUDA
// header, which a CPU build lacks. On the CPU, which is synchronous, all of this does nothing.

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

}  // namespace lime
