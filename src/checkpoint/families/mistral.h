// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Mistral 7B: LLaMA's blocks with a sliding window in every layer.
extern const Family kMistral;

}  // namespace lime
