// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Gemma: norms that multiply by 1 + weight, and scaled embeddings.
extern const Family kGemma;

/// Sets what all generations of Gemma have in common: norms, embedding scale and biases.
void read_gemma_basics(const KeyReader& keys, ModelConfig& config);

}  // namespace lime
