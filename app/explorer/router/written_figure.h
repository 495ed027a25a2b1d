// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "analysis/router/written_norms.h"
#include "explorer/models/figures.h"
#include "viz/figure.h"
#include "viz/figure_source.h"

namespace lime::explorer {

/// Draws the norms and, where a sweep over layers, attention or MLPs is open, the change in loss
/// without each part. Nothing without either.
/// @param norms  may be null
FigureOrMessage writtenFigure(const WrittenNorms* norms, std::span<const FigureSource> sweeps,
                              int layer_base);

/// Gives the curves of all parts the colour of their model; dashes distinguish them.
void colourParts(Figure& figure, std::size_t model_colour);

}  // namespace lime::explorer
