// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/program/progress.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Continues prompts greedily; prompts of equal length are batched with a key-value cache.
/// @param on_progress  number of completed prompts.
/// @return the new tokens of each prompt up to `end_token` (included), at most `max_new_tokens`.
/// @throws Interrupted  if `stop` was requested.
std::vector<std::vector<std::int32_t>> answer_greedily(
    const Decoder& decoder, std::span<const std::vector<std::int32_t>> prompts,
    std::int32_t end_token, std::int64_t max_new_tokens, const ProgressFn& on_progress = {},
    std::stop_token stop = {});

}  // namespace lime
