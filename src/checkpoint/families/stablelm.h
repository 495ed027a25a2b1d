// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LayerNorm, partial rotation, optionally attention and MLP in parallel.
extern const Family kStableLm;

}  // namespace lime
