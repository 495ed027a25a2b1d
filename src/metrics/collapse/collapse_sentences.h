// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/collapse/collapse_verdict.h"

namespace lime {

/// Returns the text of a token id for sentences; empty: not known.
using TokenText = std::function<std::string(std::int32_t token)>;

/// The verdict on a range of layers in words.
struct RangeSentence {
  std::string layers;   ///< "layers 11 to 27"
  std::string verdict;  ///< "massive tokens; the rest does not collapse"
  std::string
      evidence;  ///< "massive tokens carry 70 to 98 % of the trace (24 of 12288 tokens, ..."

  /// Returns all three, separated by colons.
  std::string text() const { return layers + ": " + verdict + ": " + evidence; }
};

/// Describes a range of layers.
/// @param random  the same layers of a model with random weights; empty: not measured
RangeSentence sentence_of(std::span<const LayerFacts> range, std::span<const LayerFacts> random,
                          const CollapseOptions& options, const TokenText& token_text);

/// Returns what the measurement cannot decide, one line each.
/// @param random_option  name of the option that compares with random weights
std::vector<std::string> caveats_of(std::span<const LayerFacts> layers, bool has_random,
                                    std::string_view random_option);

}  // namespace lime
