// SPDX-License-Identifier: Apache-2.0
#include "model/passes/crossing.h"

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdint>

namespace lime {

Crossing::Crossing(DeviceLink& link) : link_(link) {
  ++link_.passes_;
  link_.leaving_.follow(SideStream::current(link_.from_));
}

at::Tensor Crossing::carry(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const at::Tensor place = place_for(tensor);
  carry_into(place, tensor);
  return place;
}

at::Tensor Crossing::place_for(const at::Tensor& tensor) {
  const SideStreamScope scope({link_.leaving_, link_.arriving_});
  places_.push_back(at::empty(tensor.sizes(), tensor.options().device(link_.to_)));
  return places_.back();
}

void Crossing::carry_into(at::Tensor to, const at::Tensor& from) {
  const SideStreamScope scope({link_.leaving_, link_.arriving_});
  link_.leaving_.keep(from);
  to.copy_(from, /*non_blocking=*/true);
  carried_ = StreamMark(link_.arriving_);  // LibTorch makes this stream wait for the copy
  ++link_.tensors_;
  link_.bytes_ += static_cast<std::int64_t>(from.nbytes());
}

void Crossing::arrive() {
  const SideStream computing = SideStream::current(link_.to_);
  computing.follow(carried_);
  for (const at::Tensor& place : places_) computing.keep(place);
  places_.clear();
}

}  // namespace lime
