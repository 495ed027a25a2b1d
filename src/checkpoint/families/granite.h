// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Granite 3: LLaMA's blocks with multipliers.
extern const Family kGranite;

}  // namespace lime
