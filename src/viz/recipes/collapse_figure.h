// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

namespace lime {

/// Draws the causes of a collapse over layers: their shares, the participation ratio and the
/// entropy with and without massive tokens and outlier dimensions. The layer in front of which the
/// participation ratio changes most is marked and named.
Figure collapse_figure(FigureSources sources, const FigureOptions& options);

/// Returns marks for curves over the layers of one site of a capture: the ranges of layers with a
/// cause, and the cliff as a line. @param results  of metric "collapse"
std::vector<RangeMark> collapse_marks(const Results& results, const std::string& label,
                                      const std::string& site, int layer_base);

}  // namespace lime
