// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LayerNorm without parameters, and bounds of queries, keys and values.
extern const Family kOlmo;
/// Norms after attention and MLP, and of whole queries and keys.
extern const Family kOlmo2;
/// Sliding windows, whose layers have a rotary embedding of their own.
extern const Family kOlmo3;

}  // namespace lime
