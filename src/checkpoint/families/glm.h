// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Partial interleaved rotation, biases of q, k and v, fused gate and up projections.
extern const Family kGlm;
/// GLM with norms after attention and MLP, too.
extern const Family kGlm4;

}  // namespace lime
