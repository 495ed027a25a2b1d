// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Qwen with mixtures of experts; that of Qwen 2 has a shared expert.
extern const Family kQwen2Moe;
extern const Family kQwen3Moe;

}  // namespace lime
