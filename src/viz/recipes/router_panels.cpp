// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/router_panels.h"

#include "viz/map_panel.h"

namespace lime {
namespace {

std::vector<int> all_rows(const MatrixD& weights, int first) {
  return numbers_from(first, static_cast<int>(weights.rows()));
}

std::vector<int> all_columns(const MatrixD& weights, int first) {
  return numbers_from(first, static_cast<int>(weights.cols()));
}

}  // namespace

FigurePanel router_layers_panel(const MatrixD& weights, int first_layer, int layer_base) {
  return map_panel(weights, {"buffered layer", all_columns(weights, layer_base)},
                   {"layer", all_rows(weights, layer_base + first_layer), true});
}

FigurePanel router_heads_panel(const MatrixD& weights, int layer_base) {
  return map_panel(weights, {"buffered layer", all_columns(weights, layer_base)},
                   {"head", all_rows(weights, layer_base), true});
}

FigurePanel router_sources_panel(const MatrixD& shares, bool is_depth, int layer_base) {
  const std::vector<int> numbers = all_rows(shares, is_depth ? 0 : layer_base);
  return map_panel(shares, {is_depth ? "output read" : "layer read", numbers},
                   {is_depth ? "part" : "layer", numbers, true});
}

}  // namespace lime
