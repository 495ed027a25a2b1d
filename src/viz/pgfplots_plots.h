// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "viz/figure.h"

namespace lime {

/// `text` so that LaTeX prints it as it stands; Greek letters and signs of mathematics become
/// formulas.
std::string latex_text(const std::string& text);

/// Name under which the document defines the colour of a class.
std::string pgfplots_colour(std::size_t index);

/// What pgfplots is told of a curve's look: colour, pattern, marker.
std::string pgfplots_look(const SeriesLook& look);

/// The plots of one panel, for inside of an axis. They make no entries in legends. Nothing for a
/// table.
std::string pgfplots_plots(const FigurePanel& panel);

}  // namespace lime
