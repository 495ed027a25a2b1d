// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Returns a standalone LaTeX document that draws `figure` with pgfplots.
std::string figure_to_pgfplots(const Figure& figure, const FigureStyle& style);

}  // namespace lime
