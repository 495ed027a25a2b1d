// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Norms of each head's query and key, after their rotation.
extern const Family kHunYuanDense;

}  // namespace lime
