// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "viz/figure.h"

namespace lime {

/// The largest value of --colors: the palette has as many colours that differ for everyone.
inline constexpr int kMaxColours = 7;

/// Returns the colours of the models of a figure in the order of its curves and bars, as recipes
/// number them; what belongs to no model is left out.
std::vector<std::size_t> colours_in_order(std::span<const FigurePanel> panels);

/// Gives models other colours: `colors`, from 1, in the order of colours_in_order(). Solid curves
/// of different models that have one colour differ in their dashes.
/// @throws InvalidArgument  if there are more models than colours
void recolour(Figure& figure, const std::vector<int>& colors);

/// Dashes curves that have the colour of an earlier model of their panel. @param models  their
/// number for each curve of each panel, as in the recipe
void dash_equal_colours(FigurePanel& panel, const std::vector<std::size_t>& models);

}  // namespace lime
