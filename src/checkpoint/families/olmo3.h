// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// OLMo 3: OLMo 2's blocks with sliding windows, whose layers have a rotary embedding of their own.
extern const Family kOlmo3;

}  // namespace lime
