// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Heatmaps of similarity, of values per token and of sweeps. all_recipes() has their descriptions.

namespace lime {

Figure similarity_figure(FigureSources sources, const FigureOptions& options);
Figure sweep_figure(FigureSources sources, const FigureOptions& options);
Figure later_figure(FigureSources sources, const FigureOptions& options);
Figure tokens_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
