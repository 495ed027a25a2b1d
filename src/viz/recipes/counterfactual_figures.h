// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Figures of the loss without parts of the routing. all_recipes() has their descriptions.

namespace lime {

Figure counterfactual_figure(FigureSources sources, const FigureOptions& options);
Figure counterfactual_change_figure(FigureSources sources, const FigureOptions& options);
Figure counterfactual_gap_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
