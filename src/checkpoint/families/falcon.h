// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LayerNorm, a plain MLP, attention and MLP in parallel, one or few key-value heads.
extern const Family kFalcon;

}  // namespace lime
