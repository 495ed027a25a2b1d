// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// LLaMA and its descendants with the same blocks (Vicuna, SmolLM, ...).
extern const Family kLlama;

/// Reads and writes `rms_norm_eps` and the rotary embedding, which most families share.
void read_llama_basics(const KeyReader& keys, ModelConfig& config);
void write_llama_basics(const ModelConfig& config, Json& json);

}  // namespace lime
