// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// OLMo 2: norms after attention and MLP, and of the whole query and key projections.
extern const Family kOlmo2;

/// Sets what OLMo 2 and OLMo 3 have in common: norms and biases.
void read_olmo2_blocks(const KeyReader& keys, ModelConfig& config);

}  // namespace lime
