// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "viz/figure.h"
#include "viz/recipes/recipe.h"

// Attention heatmaps, for recipes and the explorer.

namespace lime {

/// Returns the heatmap of a pattern: queries from top to bottom, keys from left to right, no cell
/// for later keys. Ticks are the tokens' texts, or their positions if the texts do not fit.
/// @param pattern  [queries, keys], both with the size of `texts`.
FigurePanel attention_panel(const MatrixD& pattern, const std::vector<std::string>& texts);

/// Returns the heatmap of one query's attention: buffered layers, oldest at the bottom, by keys.
/// @param shares  [layers, keys]
FigurePanel routed_attention_panel(const MatrixD& shares, std::int64_t query,
                                   const std::vector<std::string>& texts, int layer_base);

/// Returns a figure of such panels with a common colour scale.
Figure figure_of_attention(std::vector<FigurePanel> panels);
Figure figure_of_routed_attention(std::vector<FigurePanel> panels);

// Recipes; all_recipes() has their descriptions.

Figure attention_figure(FigureSources sources, const FigureOptions& options);
Figure attention_layers_figure(FigureSources sources, const FigureOptions& options);
Figure attention_heads_figure(FigureSources sources, const FigureOptions& options);
Figure attention_routed_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
