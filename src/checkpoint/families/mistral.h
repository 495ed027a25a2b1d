// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Mistral 7B: LLaMA's blocks with a sliding window in every layer.
extern const Family kMistral;

/// Ministral 8B: the same, in the layers that `layer_types` names. transformers 5 loads a `mistral`
/// with `layer_types` as it, and writes it under this name.
extern const Family kMinistral;

}  // namespace lime
