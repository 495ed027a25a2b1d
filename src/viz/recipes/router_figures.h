// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Heatmaps of router weights. all_recipes() has their descriptions.

namespace lime {

Figure router_heads_figure(FigureSources sources, const FigureOptions& options);
Figure router_mean_figure(FigureSources sources, const FigureOptions& options);
Figure router_signed_figure(FigureSources sources, const FigureOptions& options);
Figure router_sources_figure(FigureSources sources, const FigureOptions& options);

/// Returns the heatmap of the parts of a decoder by the outputs that they read, the first part at
/// the top.
/// @param shares    [sources, sources]; NaN: cannot be read
/// @param is_depth  parts are attention and MLP of each layer; else layers
FigurePanel router_sources_panel(const MatrixD& shares, bool is_depth, int layer_base);

}  // namespace lime
