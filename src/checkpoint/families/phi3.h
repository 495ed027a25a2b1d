// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Phi-3 and Phi-4: fused projections.
extern const Family kPhi3;

}  // namespace lime
