// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Number of columns for `panels` panels: `wanted`, or as many as make the grid near 3 wide.
int columns_for(std::size_t panels, int wanted);

/// Leaves of many panels' labels only those at the edges of the sheet, and of ticks the outermost.
/// May be called again where the number of columns has changed.
void thin_out_labels(Figure& figure);

/// `figure` with as many panels side by side as the width of `style` has room for, where it has
/// more and neither their number nor the height is fixed: the figure grows in height instead.
/// @throws InvalidArgument  if there is no such size.
Figure with_fitting_columns(const Figure& figure, const FigureStyle& style);

}  // namespace lime
