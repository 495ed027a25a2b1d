// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/attention_panels.h"

#include <limits>
#include <utility>

namespace lime {
namespace {

/// Returns ticks at tokens with their texts or, if these do not fit, at some positions.
/// @param is_upright  vertical axis with the first token at the upper end.
FigureAxis token_axis(const std::string& label, const std::vector<std::string>& texts,
                      bool is_upright) {
  FigureAxis axis{.label = label};
  axis.if_crowded = CrowdedAxis{.addition = ", position", .ticks = {}};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto at = static_cast<double>(is_upright ? texts.size() - 1 - i : i);
    axis.ticks.push_back({at, texts[i]});
    axis.if_crowded->ticks.push_back({at, std::to_string(i)});
  }
  return axis;
}

}  // namespace

FigurePanel attention_panel(const MatrixD& pattern, const std::vector<std::string>& texts) {
  HeatmapPanel map;
  map.values = pattern.colwise().reverse();
  for (Eigen::Index q = 0; q < pattern.rows(); ++q) {
    // Later keys are masked.
    map.values.row(pattern.rows() - 1 - q)
        .tail(pattern.cols() - 1 - q)
        .setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  return {.title = {},
          .x = token_axis("key", texts, false),
          .y = token_axis("query", texts, true),
          .content = std::move(map)};
}

FigurePanel routed_attention_panel(const MatrixD& shares, std::int64_t query,
                                   const std::vector<std::string>& texts, int layer_base) {
  HeatmapPanel map;
  map.values = shares;
  for (Eigen::Index k = query + 1; k < shares.cols(); ++k) {
    map.values.col(k).setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  FigurePanel panel{.title = {},
                    .x = token_axis("key", texts, false),
                    .y = {.label = "buffered layer"},
                    .content = {}};
  for (Eigen::Index m = 0; m < shares.rows(); ++m) {
    panel.y.ticks.push_back({static_cast<double>(m), std::to_string(m + layer_base)});
  }
  panel.content = std::move(map);
  return panel;
}

Figure figure_of_attention(std::vector<FigurePanel> panels) {
  Figure figure;
  figure.name = "attention";
  figure.panel_aspect = 1.0;
  figure.colour_label = "attention";
  figure.colour_range = std::pair(0.0, 1.0);
  figure.panels = std::move(panels);
  return figure;
}

Figure figure_of_routed_attention(std::vector<FigurePanel> panels) {
  Figure figure;
  figure.name = "attention-routed";
  figure.panel_aspect = 0.5;
  figure.colour_label = "fraction read";
  figure.panels = std::move(panels);
  const double largest = colour_range_of(figure).second;
  figure.colour_range = std::pair(0.0, largest > 0.0 ? largest : 1.0);
  return figure;
}

}  // namespace lime
