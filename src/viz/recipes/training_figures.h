// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Losses and accuracies of training runs. all_recipes() has their descriptions.

namespace lime {

Figure loss_figure(FigureSources sources, const FigureOptions& options);
/// Draws the accuracy of arithmetic models over the number of operands.
Figure operands_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
