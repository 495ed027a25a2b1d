// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Returns the number of columns for `panels` panels: `wanted`, or enough for a grid about 3 wide.
int columns_for(std::size_t panels, int wanted);

/// Keeps axis labels only at the panels on the outer edges if there are many panels, and of the
/// ticks only the outermost. May be called again after the number of columns changes.
void thin_out_labels(Figure& figure);

/// Returns `figure` with as many columns as fit the width of `style`, if it has more and neither
/// their number nor the height is fixed: the figure grows in height instead.
/// @throws InvalidArgument  if the size is unknown.
Figure with_fitting_columns(const Figure& figure, const FigureStyle& style);

}  // namespace lime
