// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LayerNorm, a plain MLP, biases and optionally a window in every layer.
extern const Family kStarcoder2;

}  // namespace lime
