// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

namespace lime {

/// Draws the effect of removing each component over the mass that it receives.
Figure mass_effect_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
