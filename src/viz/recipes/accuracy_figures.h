// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Figures and tables of accuracy: BLiMP and multiple-choice tasks. all_recipes() has their
// descriptions.

namespace lime {

Figure blimp_figure(FigureSources sources, const FigureOptions& options);
Figure blimp_table(FigureSources sources, const FigureOptions& options);
Figure choices_figure(FigureSources sources, const FigureOptions& options);
/// Draws the accuracy of the logit lens and of probes over the layers, a panel per task.
Figure choices_layers_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
