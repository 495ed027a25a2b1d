// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Qwen2 and Qwen2.5: biases of q, k and v.
extern const Family kQwen2;
/// A norm of each head's query and key.
extern const Family kQwen3;

}  // namespace lime
