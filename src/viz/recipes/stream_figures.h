// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Figures of residual streams. all_recipes() has their descriptions.

namespace lime {

Figure streams_figure(FigureSources sources, const FigureOptions& options);
Figure streams_layers_figure(FigureSources sources, const FigureOptions& options);
Figure streams_mixing_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
