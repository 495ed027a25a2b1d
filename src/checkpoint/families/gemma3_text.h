// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Gemma 3, text only: Gemma 2's blocks with norms of queries and keys.
extern const Family kGemma3Text;

}  // namespace lime
