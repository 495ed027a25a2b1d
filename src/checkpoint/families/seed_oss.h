// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Biases before attention, and optionally after it.
extern const Family kSeedOss;

}  // namespace lime
