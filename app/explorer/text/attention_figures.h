// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "analysis/attention/attention_patterns.h"
#include "viz/figure.h"

namespace lime::explorer {

/// Draws a pattern as a heatmap: queries from top to bottom, keys from left to right.
Figure patternFigure(const AttentionPatterns& attention, std::int64_t head,
                     const std::vector<QString>& texts);

/// Draws the patterns of all heads, a panel each.
Figure patternsFigure(const AttentionPatterns& attention, const std::vector<QString>& texts,
                      int layer_base);

/// Draws the fractions of the buffered layers, the oldest at the bottom, and of the keys.
Figure routedAttentionFigure(const RoutedAttention& routed, std::int64_t query,
                             const std::vector<QString>& texts, int layer_base);

/// Summarises the mean attention of a head in a line, and explains its numbers.
QString headSummary(const AttentionPatterns& attention, std::int64_t head, int layer_base = 0);

}  // namespace lime::explorer
