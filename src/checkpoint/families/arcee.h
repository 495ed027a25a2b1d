// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// A plain MLP.
extern const Family kArcee;
/// A plain MLP, LayerNorm and biases.
extern const Family kJais2;

}  // namespace lime
