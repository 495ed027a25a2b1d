// SPDX-License-Identifier: Apache-2.0
#include "model/passes/side_stream.h"

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

bool has_streams(c10::Device device) { return device.is_cuda(); }

}  // namespace

SideStream::SideStream(c10::Device device) {
  if (!has_streams(device)) return;
  stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

SideStream SideStream::current(c10::Device device) {
  if (!has_streams(device)) return SideStream(std::optional<c10::Stream>());
  return SideStream(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

void SideStream::follow(const SideStream& other) const { follow(StreamMark(other)); }

void SideStream::follow(const StreamMark& mark) const {
  if (stream_ && mark.event_ != nullptr) mark.event_->block(*stream_);
}

void SideStream::keep(const at::Tensor& tensor) const {
  if (stream_) tensor.record_stream(*stream_);
}

StreamMark::StreamMark(const SideStream& stream) {
  if (!stream.stream_) return;
  auto event = std::make_shared<c10::Event>(stream.stream_->device_type());
  event->record(*stream.stream_);
  event_ = std::move(event);
}

void StreamMark::wait() const {
  if (event_ != nullptr) wait_for_event(*event_);
}

std::vector<c10::Stream> SideStreamScope::there(std::initializer_list<SideStream> streams) {
  std::vector<c10::Stream> found;
  for (const SideStream& stream : streams) {
    if (stream.stream_) found.push_back(*stream.stream_);
  }
  return found;
}

SideStreamScope::SideStreamScope(std::initializer_list<SideStream> streams)
    : guard_(there(streams)) {}

}  // namespace lime
