// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

namespace lime {

/// Draws the causes of a collapse over layers: their shares, the participation ratio and the
/// entropy with and without massive tokens and outlier dimensions. The layer in front of which the
/// participation ratio changes most is marked and named.
Figure collapse_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
