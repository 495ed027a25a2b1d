// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/progress.h"
#include "model/decoder.h"

namespace lime {

/// Continues prompts of equal length greedily, as one batch with a key-value cache.
/// @return the new tokens of each prompt up to `end_token` (included), at most `max_new_tokens`.
std::vector<std::vector<std::int32_t>> generate_greedily(
    const Decoder& decoder, std::span<const std::vector<std::int32_t>> prompts,
    std::int32_t end_token, std::int64_t max_new_tokens);

/// Continues prompts of any lengths, those of equal length together.
/// @param on_progress  prompts done.
/// @return as generate_greedily(), in the order of the prompts.
/// @throws Interrupted  if `stop` was requested.
std::vector<std::vector<std::int32_t>> answer_greedily(
    const Decoder& decoder, std::span<const std::vector<std::int32_t>> prompts,
    std::int32_t end_token, std::int64_t max_new_tokens, const ProgressFn& on_progress = {},
    std::stop_token stop = {});

}  // namespace lime
