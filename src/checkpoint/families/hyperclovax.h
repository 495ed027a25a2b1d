// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Granite's multipliers, and optionally norms after attention and MLP.
extern const Family kHyperClovaX;

}  // namespace lime
