// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "viz/figure.h"

// Attention as maps, for recipes and for the window.

namespace lime {

/// A pattern: queries from top to bottom, keys from left to right, no cell for what comes later.
/// Axes have the tokens' texts, and their positions where those have no room.
/// @param pattern  [queries, keys], as many of both as `texts`.
FigurePanel attention_panel(const MatrixD& pattern, const std::vector<std::string>& texts);

/// What `query` reads of the keys up to it: buffered layers, the oldest at the bottom, and keys.
/// @param shares  [layers, keys]
FigurePanel routed_attention_panel(const MatrixD& shares, std::int64_t query,
                                   const std::vector<std::string>& texts, int layer_base);

/// Figures of such panels, which share one scale of colours.
Figure figure_of_attention(std::vector<FigurePanel> panels);
Figure figure_of_routed_attention(std::vector<FigurePanel> panels);

}  // namespace lime
