// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Gemma 2: Gemma's blocks with norms before and after each part, soft caps, and a sliding window
/// in every other layer.
extern const Family kGemma2;

/// Sets what Gemma 2 and Gemma 3 have in common: norms, the attention scale and embedding scale.
void read_gemma2_blocks(const KeyReader& keys, ModelConfig& config);

}  // namespace lime
