// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/figure.h"
#include "viz/recipes/figure_options.h"

namespace lime {

/// Gives the axes of all panels the limits and logarithmic scales that `options` ask for; the note
/// says where that leaves points out.
/// @throws InvalidArgument  if a panel has no such axes, or a logarithmic one no value above 0.
void apply_axis_options(Figure& figure, const FigureOptions& options);

}  // namespace lime
