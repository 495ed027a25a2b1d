// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LayerNorm without bias, attention and MLP in parallel, interleaved rotation.
extern const Family kCohere;
/// Cohere with windows; only layers with a window rotate.
extern const Family kCohere2;

}  // namespace lime
