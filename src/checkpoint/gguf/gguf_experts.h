// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/gguf/gguf_metadata.h"

namespace lime {

/// Returns true if the layers of a file have mixtures of experts.
bool has_gguf_experts(const GgufMetadata& data);

/// Adds the number of experts as `num_experts_key`, and how many of them a token passes.
/// @throws FormatError  that names the remedy for files that store each expert in its own tensors.
void add_gguf_experts(const GgufMetadata& data, const char* num_experts_key, Json& json);

/// Adds the width of an expert, where the family has it besides intermediate_size.
void add_gguf_expert_width(const GgufMetadata& data, Json& json);

/// Refuses Granite models whose folder has another model_type: those with an expert that every
/// token passes, and those without a rotary embedding. @throws FormatError
void refuse_granite_variants(const GgufMetadata& data);

}  // namespace lime
