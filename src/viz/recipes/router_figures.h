// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Heatmaps of router weights. all_recipes() has their descriptions.

namespace lime {

Figure router_heads_figure(FigureSources sources, const FigureOptions& options);
Figure router_mean_figure(FigureSources sources, const FigureOptions& options);
Figure router_signed_figure(FigureSources sources, const FigureOptions& options);
Figure router_sources_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
