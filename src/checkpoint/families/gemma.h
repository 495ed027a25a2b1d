// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Scaled embeddings, norms that multiply by 1 + weight.
extern const Family kGemma;
/// Norms before and after each part, soft caps, sliding windows.
extern const Family kGemma2;
/// Gemma 2's blocks with norms of queries and keys; text only.
extern const Family kGemma3Text;
/// Gemma 2 without norms after attention and MLP.
extern const Family kVaultGemma;

}  // namespace lime
