// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LayerNorm, a plain MLP beside attention, partial rotation, a bias of the output projection.
extern const Family kPhi;

}  // namespace lime
