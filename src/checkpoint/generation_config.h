// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace lime {

/// Returns the ids that end generation: `eos_token_id` of generation_config.json, one id or a list,
/// as in transformers; of config.json if that file or its key is missing.
/// @throws FormatError  if generation_config.json is broken, or an id is outside the vocabulary.
std::vector<std::int64_t> stop_token_ids(const Checkpoint& checkpoint);

}  // namespace lime
