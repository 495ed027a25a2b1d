// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "metrics/collapse/collapse_verdict.h"

namespace lime {

/// Returns the text of a token id for sentences; empty: not known.
using TokenText = std::function<std::string(std::int32_t token)>;

/// Describes a range of layers in one or two sentences: "layers 11 to 27: massive tokens carry 70 %
/// to 98 % of the trace (24 of 12288 tokens, ...); ...".
/// @param random  the same layers of a model with random weights; empty: not measured
std::string sentence_of(std::span<const LayerFacts> range, std::span<const LayerFacts> random,
                        const CollapseOptions& options, const TokenText& token_text);

/// Returns what the measurement cannot decide, one line each.
std::vector<std::string> caveats_of(std::span<const LayerFacts> layers, bool has_random);

}  // namespace lime
