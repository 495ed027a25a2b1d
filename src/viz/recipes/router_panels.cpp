// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/router_panels.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "store/results/difference_name.h"
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

Figure figure_of_router_heads(std::vector<FigurePanel> panels, const std::vector<int>& layers,
                              int layer_base, int columns) {
  Figure figure;
  figure.name = "router-heads";
  figure.panels = std::move(panels);
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    figure.panels[i].title = fmt::format("layer {}", layers.at(i) + layer_base);
  }
  figure.columns = columns_for(figure.panels.size(), columns);
  figure.is_wide = figure.columns >= 3;
  figure.panel_aspect = 0.8;
  thin_out_labels(figure);
  return figure;
}

std::string weighted_router_quantity(const std::string& quantity, const std::string& weighting) {
  if (weighting.empty() || weighting == "none") return quantity;
  if (const auto terms = terms_of_difference(weighting)) {
    return fmt::format("{} \xE2\x88\x92 {}", weighted_router_quantity(quantity, terms->first),
                       weighted_router_quantity(quantity, terms->second));
  }
  return fmt::format("{} \xC3\x97 rms of {}", quantity, weighting);
}

}  // namespace lime
