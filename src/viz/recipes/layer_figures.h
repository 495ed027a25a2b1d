// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Curves over the layers. all_recipes() has their descriptions.

namespace lime {

Figure comparison_figure(FigureSources sources, const FigureOptions& options);
Figure entropy_figure(FigureSources sources, const FigureOptions& options);
Figure geometry_figure(FigureSources sources, const FigureOptions& options);
Figure separability_figure(FigureSources sources, const FigureOptions& options);
Figure series_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
