// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Scatter plots of embeddings. all_recipes() has their descriptions.

namespace lime {

Figure embedding_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
