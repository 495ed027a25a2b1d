// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_figures.h"

#include "viz/recipes/router_panels.h"

namespace lime::explorer {

int numSources(const MatrixD& shares, Eigen::Index row) {
  return static_cast<int>((shares.row(row).array() == shares.row(row).array()).count());
}

Figure sourcesFigure(const MatrixD& shares, bool is_depth, int base) {
  const auto count = static_cast<int>(shares.rows());
  FigurePanel panel = router_sources_panel(shares, is_depth, base);
  std::get<HeatmapPanel>(panel.content).shows_numbers = count <= 9;
  Figure figure;
  figure.name = "router-sources";
  figure.panels = {std::move(panel)};
  figure.colour_label =
      fmt::format("fraction of the weight (uniform in the last row: 1/{0} = {1:.3f})",
                  numSources(shares, count - 1), 1.0 / numSources(shares, count - 1));
  return figure;
}

Figure embeddingsFigure(const RouterSubject& subject, const RouterDisplay& display) {
  CurvePanel panel;
  const auto add = [&](const CheckpointRouters* routers, const std::string& label,
                       std::size_t colour) {
    Curve curve;
    curve.label = label;
    curve.style.colour = colour;
    const Eigen::Index layers = subject.routers->num_layers();
    for (Eigen::Index l = std::min<Eigen::Index>(1, layers - 1); l < layers; ++l) {
      const double uniform = 1.0 / static_cast<double>(l + 1);
      curve.x.push_back(static_cast<double>(l + display.layer_base));
      curve.y.push_back(routers == nullptr ? uniform
                                           : routers->layer_values(RouterQuantity::kShare)(l, 0));
    }
    if (routers == nullptr) curve.style = {kMutedColour, LinePattern::kDashed, MarkerShape::kNone};
    panel.curves.push_back(std::move(curve));
  };
  add(subject.routers, subject.name, 0);
  if (subject.minus != nullptr) add(subject.minus, subject.other_name, 1);
  add(nullptr, "uniform, 1/n", 0);
  Figure figure;
  figure.name = "router-embeddings";
  figure.panels = {{.x = {.label = "layer", .whole_numbers = true},
                    .y = {.label = "fraction on the embeddings", .min = 0.0},
                    .content = std::move(panel)}};
  return figure;
}

}  // namespace lime::explorer
