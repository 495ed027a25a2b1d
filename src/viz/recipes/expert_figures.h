// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Heatmaps of the experts of routers. all_recipes() has their descriptions.

namespace lime {

Figure experts_figure(FigureSources sources, const FigureOptions& options);
Figure expert_groups_figure(FigureSources sources, const FigureOptions& options);
Figure expert_pairs_figure(FigureSources sources, const FigureOptions& options);
Figure expert_tokens_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
