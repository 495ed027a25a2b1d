// SPDX-License-Identifier: Apache-2.0
#pragma once

// Work that a GPU does beside what it computes, in LibTorch's own terms for streams and events of
// any device: no header of CUDA is needed, which a LibTorch for processors alone lacks. On the
// processor, which does everything at once, all of this is nothing.

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

namespace lime {

class StreamMark;

/// A queue of work on one device; those of a device run side by side. A copy is the same queue.
class SideStream {
 public:
  /// A new one.
  explicit SideStream(c10::Device device);
  /// The one to which the calling thread gives its work.
  static SideStream current(c10::Device device);

  /// Lets what comes next here begin only after what has been given to another one so far. The
  /// calling thread does not wait.
  void follow(const SideStream& other) const;
  void follow(const StreamMark& mark) const;

  /// Says that work given to this stream reads or writes the tensor: its memory goes to nobody else
  /// before that is done.
  void keep(const at::Tensor& tensor) const;

 private:
  friend class StreamMark;
  friend class SideStreamScope;
  explicit SideStream(std::optional<c10::Stream> stream) : stream_(stream) {}

  std::optional<c10::Stream> stream_;  // none for the processor
};

/// A place in a stream: all that was given to it before.
class StreamMark {
 public:
  StreamMark() = default;
  explicit StreamMark(const SideStream& stream);

  /// Waits until the device has come this far.
  void wait() const;

 private:
  friend class SideStream;
  std::shared_ptr<const c10::Event> event_;  // null where nothing is ever waited for
};

/// While it lives, the calling thread gives its work on the streams' devices to them.
class SideStreamScope {
 public:
  explicit SideStreamScope(std::initializer_list<SideStream> streams);

 private:
  static std::vector<c10::Stream> there(std::initializer_list<SideStream> streams);

  c10::MultiStreamGuard guard_;
};

/// Brings a tensor of this machine's memory to a device, without waiting for what that one
/// computes.
at::Tensor sent_to(c10::Device device, const at::Tensor& tensor);

}  // namespace lime
