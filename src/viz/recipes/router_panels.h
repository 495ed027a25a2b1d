// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/matrix.h"
#include "viz/figure.h"

// Heatmaps of what the layers of a decoder read, in figures of results (router_figures.h) and in
// the explorer. Layers and heads are numbered from `layer_base`; the first row is at the top.

namespace lime {

/// Returns the heatmap of layers, from `first_layer` on, by the buffered layers that they read.
/// @param weights  [layers - first_layer, layers]
FigurePanel router_layers_panel(const MatrixD& weights, int first_layer, int layer_base);

/// Returns the heatmap of the target heads of a layer by what they read.
/// @param weights  [heads, buffered layers or heads]
FigurePanel router_heads_panel(const MatrixD& weights, int layer_base);

/// Returns the heatmap of the parts of a decoder by the outputs that they read.
/// @param shares    [sources, sources]; NaN: cannot be read
/// @param is_depth  parts are attention and MLP of each layer; else layers
FigurePanel router_sources_panel(const MatrixD& shares, bool is_depth, int layer_base);

/// Returns the figure of the target heads of several layers: a panel per layer, with its title.
/// @param panels   of router_heads_panel()
/// @param layers   of each panel
/// @param columns  panels per row; 0: automatic
Figure figure_of_router_heads(std::vector<FigurePanel> panels, const std::vector<int>& layers,
                              int layer_base, int columns);

/// Returns a quantity of router weights, such as "|R|", with its weighting.
/// @param weighting  as FigureOptions::weighting: "keys" multiplies by the "rms of keys", "" and
///                   "none" leave the quantity, "keys - none" is a difference of both
std::string weighted_router_quantity(const std::string& quantity, const std::string& weighting);

}  // namespace lime
