// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "viz/recipes/recipe.h"

namespace lime {

/// Draws the causes of a collapse over layers: their shares, the participation ratio and the
/// entropy with and without massive tokens and outlier dimensions. The layer in front of which the
/// participation ratio changes most is marked and named.
Figure collapse_figure(FigureSources sources, const FigureOptions& options);

/// The layer before which the participation ratio changes most.
struct CollapseCliff {
  int layer = 0;
  std::string note;  ///< "cliff at layer 11, the participation ratio falls: massive tokens"
};

/// Marks the ranges of layers with a cause, and the cliff as a line, in all panels of `figure`,
/// whose curves are over the layers of one site. Equal verdicts have one letter, which a note
/// explains. @param results  of metric "collapse"
/// @return the cliff; nothing if there is none
std::optional<CollapseCliff> mark_collapse(Figure& figure, const Results& results,
                                           const std::string& label, const std::string& site,
                                           int layer_base);

}  // namespace lime
