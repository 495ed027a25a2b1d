// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_figures.h"

#include <cmath>

#include "explorer/models/text.h"
#include "viz/recipes/router_panels.h"

namespace lime::explorer {
namespace {

/// Returns the name of a part of a decoder, or of a source: layers, unless `is_depth`.
QString partName(const MatrixD& shares, bool is_depth, int base, int part, bool is_source) {
  if (!is_depth) return u"layer %1"_s.arg(part + base);
  if (is_source && part == 0) return u"the embedding"_s;
  const int place = is_source ? part - 1 : part;
  if (!is_source && part + 1 == shares.rows()) return u"the final norm"_s;
  return (place % 2 == 0 ? u"the attention of layer %1"_s : u"the MLP of layer %1"_s)
      .arg(place / 2 + base);
}

}  // namespace

QString describeShare(const MatrixD& shares, bool is_depth, int base, int part, int source) {
  if (part < 0 || part >= shares.rows() || source >= shares.cols()) return {};
  const double share = shares(part, source);
  if (std::isnan(share)) return {};
  const int sources = numSources(shares, part);
  return u"%1 reads %2: %3, %4 x uniform (1/%5)"_s
      .arg(partName(shares, is_depth, base, part, false),
           partName(shares, is_depth, base, source, true))
      .arg(share, 0, 'f', 4)
      .arg(share * sources, 0, 'f', 2)
      .arg(sources);
}

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
