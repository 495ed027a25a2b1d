// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

namespace lime {

/// Draws an audit: a heatmap per site with a line per measure that moves and a column per transform
/// or text, coloured by the change in half-widths. Cells of measures that do not move are empty.
Figure audit_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
