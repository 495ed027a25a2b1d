// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_flow_figure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "viz/recipes/recipes.h"

namespace lime::explorer {
namespace {

using Eigen::Index;

constexpr std::size_t kMostDirect = 96;  // edges that are drawn, the strongest
constexpr int kSamples = 17;             // points of a bent line
constexpr double kRoutedAt = 0.3;        // routed heads are right of the buffer of their layer
constexpr double kWidest = 6.0;          // of lines, in parts of a usual one
constexpr double kNarrowest = 0.4;

/// A place of the diagram: layers to the right, heads from top to bottom.
struct Place {
  double x = 0.0;
  double y = 0.0;
};

/// A line that leaves and arrives level. From left to right, as curves are: else parts of it would
/// be missing where the figure is seen from near.
Curve bent(Place from, Place to, double strength, const SeriesStyle& style) {
  if (to.x < from.x) std::swap(from, to);
  Curve curve;
  curve.style = style;
  curve.style.marker = MarkerShape::kNone;
  curve.style.width = std::max(kNarrowest, kWidest * std::sqrt(std::clamp(strength, 0.0, 1.0)));
  for (int i = 0; i < kSamples; ++i) {
    const double t = static_cast<double>(i) / (kSamples - 1);
    const double eased = t * t * (3.0 - 2.0 * t);
    curve.x.push_back(from.x + t * (to.x - from.x));
    curve.y.push_back(from.y + eased * (to.y - from.y));
  }
  return curve;
}

struct Edge {
  Index layer = 0;
  Index head = 0;
  double share = 0.0;
};

std::vector<Edge> strongestDirect(const RouterFlow& flow, double threshold) {
  std::vector<Edge> edges;
  const double least = threshold * flow.direct.maxCoeff();
  for (Index s = 0; s < flow.direct.cols(); ++s) {
    for (Index h = 0; h < flow.direct.rows(); ++h) {
      const double share = flow.direct(h, s);
      if (share > 0.0 && share >= least) edges.push_back({s, h, share});
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.share > b.share; });
  edges.resize(std::min(edges.size(), kMostDirect));
  return edges;
}

CurvePanel diagram(const RouterFlow& flow, int layer, int head, double threshold,
                   std::vector<std::pair<int, int>>& nodes) {
  const auto heads = static_cast<double>(flow.direct.rows());
  const auto level = [heads](auto number) { return heads - 1.0 - static_cast<double>(number); };
  CurvePanel panel;
  const double strongest = std::max(flow.direct.maxCoeff(), 1e-12);
  const double strongest_edge = flow.edges.empty() ? 1.0 : flow.edges.front().amount;
  for (auto edge = flow.edges.rbegin(); edge != flow.edges.rend(); ++edge) {
    if (edge->amount < threshold * strongest_edge) continue;
    Curve curve =
        bent({static_cast<double>(edge->layer) + kRoutedAt, level(edge->head)},
             {static_cast<double>(edge->source_layer), level(edge->source_head)},
             0.5 * edge->amount / strongest_edge, {.colour = kMutedColour, .is_faint = true});
    curve.label = "between earlier layers";
    panel.curves.push_back(std::move(curve));
  }
  const std::vector<Edge> direct = strongestDirect(flow, threshold);
  for (auto edge = direct.rbegin(); edge != direct.rend(); ++edge) {
    const bool is_negative = flow.signs(edge->head, edge->layer) < 0.0;
    Curve curve = bent({static_cast<double>(layer) + 1.0, level(head)},
                       {static_cast<double>(edge->layer), level(edge->head)},
                       edge->share / strongest, {.colour = is_negative ? 1U : 0U});
    curve.label = is_negative ? "read with a negative weight" : "read with a positive weight";
    panel.curves.push_back(std::move(curve));
  }
  Curve dots;
  dots.label = "buffered head";
  dots.style = {.colour = kMutedColour, .pattern = LinePattern::kNone};
  for (Index s = 0; s < flow.direct.cols(); ++s) {
    for (Index h = 0; h < flow.direct.rows(); ++h) {
      dots.x.push_back(static_cast<double>(s));
      dots.y.push_back(level(h));
      nodes.emplace_back(static_cast<int>(s), static_cast<int>(h));
    }
  }
  panel.curves.push_back(std::move(dots));
  return panel;
}

}  // namespace

RouterFlowFigure flowFigure(const RouterExploration& routers, int layer, int head,
                            const RouterDisplay& display) {
  const RouterFlow flow = router_flow(routers.routers(), layer, head);
  const int heads = static_cast<int>(flow.direct.rows());
  RouterFlowFigure flow_figure;
  FigurePanel left;
  left.title =
      "layer " + std::to_string(layer + display.layer_base) + ", head " + std::to_string(head);
  left.content = diagram(flow, layer, head, display.threshold, flow_figure.nodes);
  FigurePanel right;
  right.title = "through earlier layers";
  HeatmapPanel map;
  map.values = flow.indirect.colwise().reverse();  // head 0 at the top
  right.content = std::move(map);
  for (FigurePanel* const panel : {&left, &right}) {
    panel->x.label = "buffered layer";
    panel->x.ticks = layer_ticks(layer + 1, display.layer_base);
    panel->y.label = "buffered head";
    panel->y.ticks = layer_ticks(heads, 0);
    for (AxisTick& tick : panel->y.ticks) tick.at = heads - 1 - tick.at;
  }
  left.x.min = -0.5;
  left.x.max = layer + 1.4;
  left.y.min = -0.6;
  left.y.max = heads - 0.4;
  flow_figure.figure.name = "router-flow";
  flow_figure.figure.colour_label = "flow";
  flow_figure.figure.columns = 2;
  flow_figure.figure.is_wide = true;
  flow_figure.figure.panels = {std::move(left), std::move(right)};
  return flow_figure;
}

}  // namespace lime::explorer
