// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/figure.h"
#include "viz/recipes/figure_options.h"

namespace lime {

/// Sets the limits and logarithmic scales of `options` on the axes of all panels; the note reports
/// omitted points.
/// @throws InvalidArgument  if a panel has no such axes, or a logarithmic one no value above 0.
void apply_axis_options(Figure& figure, const FigureOptions& options);

}  // namespace lime
