// SPDX-License-Identifier: Apache-2.0
#include "model/passes/device_link.h"

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace lime {

DeviceLink::DeviceLink(c10::Device from, c10::Device to)
    : from_(from), to_(to), leaving_(from), arriving_(from == to ? leaving_ : SideStream(to)) {}

}  // namespace lime
