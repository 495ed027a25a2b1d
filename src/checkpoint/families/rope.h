// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/key_reader.h"
#include "checkpoint/model_config.h"

namespace lime {

/// Reads the rotary embedding, the same for all layers. transformers 4 writes `rope_theta` and
/// `rope_scaling`; transformers 5 writes `rope_parameters` with `rope_theta` inside. A
/// `rope_scaling` that is not empty wins there, and here.
/// @throws FormatError  that names the key at fault.
RopeSpec read_rope(const KeyReader& keys, const ModelConfig& config);

/// Writes `rope_theta` and `rope_scaling`.
void write_rope(const RopeSpec& rope, Json& json);

/// Throws FormatError if the config rotates a part of each head only.
void refuse_partial_rotation(const KeyReader& keys);

}  // namespace lime
