// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

namespace lime {

/// Draws how much each block changes the residual stream, from comparisons of neighbouring layers.
Figure influence_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
