// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "viz/figure.h"

namespace lime {

/// Escapes `text` for LaTeX; Greek letters and mathematical symbols become formulas.
std::string latex_text(const std::string& text);

/// Returns the name under which the document defines the colour of a class.
std::string pgfplots_colour(std::size_t index);

/// Returns the pgfplots options for a curve's colour, pattern and marker.
std::string pgfplots_style(const SeriesStyle& style);

/// Returns the plots of one panel, for use inside an axis; empty for a table.
std::string pgfplots_plots(const FigurePanel& panel);

}  // namespace lime
