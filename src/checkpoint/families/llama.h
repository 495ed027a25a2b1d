// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LLaMA and its descendants with the same blocks (Vicuna, SmolLM ...).
extern const Family kLlama;
/// LLaMA under other names, with other defaults.
extern const Family kInternLm3;
extern const Family kIQuestCoder;

}  // namespace lime
