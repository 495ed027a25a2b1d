// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Qwen2 and Qwen2.5: LLaMA's blocks with biases of q, k and v.
extern const Family kQwen2;

/// Sets the windows of Qwen2 and Qwen3. Layers slide with `use_sliding_window` only: those of
/// `layer_types`, or from `max_window_layers` on.
void read_qwen_windows(const KeyReader& keys, ModelConfig& config);

}  // namespace lime
