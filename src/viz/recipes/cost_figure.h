// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

// Table of parameters, memory and operations. all_recipes() has their descriptions.

namespace lime {

Figure cost_table(FigureSources sources, const FigureOptions& options);

}  // namespace lime
