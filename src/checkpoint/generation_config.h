// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace lime {

/// Ids after any of which generation ends: `eos_token_id` of generation_config.json, one id or a
/// list, as transformers takes it; of config.json where that file or its key is missing.
/// @throws FormatError  if generation_config.json is broken, or an id is outside the vocabulary.
std::vector<std::int64_t> stop_token_ids(const Checkpoint& checkpoint);

}  // namespace lime
