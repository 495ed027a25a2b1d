// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LLaMA's blocks with tensors named as in GPT-2.
extern const Family kExaone;
/// Norms after attention and MLP, and of each head; only layers with a window rotate.
extern const Family kExaone4;

}  // namespace lime
