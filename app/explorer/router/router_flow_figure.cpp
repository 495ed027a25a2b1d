// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_flow_figure.h"

#include <algorithm>
#include <cmath>

namespace lime::explorer {
namespace {

using Eigen::Index;

constexpr std::size_t kMaxDirect = 32;   // edges that are drawn, the strongest
constexpr std::size_t kMaxEarlier = 64;  // likewise, between earlier layers
constexpr double kArc = 0.8;             // height of the arc of the longest edge, in heads
constexpr int kSamples = 17;             // points of a bent line
constexpr double kRoutedAt = 0.3;        // routed heads are right of the buffer of their layer
constexpr double kWidest = 6.0;          // of lines, in parts of a usual one
constexpr double kNarrowest = 0.4;

/// A place of the diagram: layers to the right, heads from top to bottom.
using Place = Eigen::Vector2d;

/// A line that leaves and arrives level, and an arc between heads of one level: lines of several
/// layers would hide each other. From left to right, as curves are: else parts of it would be
/// missing where the figure is seen from near. @param arc  its height
Curve bent(Place from, Place to, double strength, double arc, const SeriesStyle& style) {
  if (to.x() < from.x()) std::swap(from, to);
  Curve curve;
  curve.style = style;
  curve.style.marker = MarkerShape::kNone;
  curve.style.width = std::max(kNarrowest, kWidest * std::sqrt(std::clamp(strength, 0.0, 1.0)));
  for (int i = 0; i < kSamples; ++i) {
    const double t = static_cast<double>(i) / (kSamples - 1);
    const double eased = t * t * (3.0 - 2.0 * t);
    curve.x.push_back(std::lerp(from.x(), to.x(), t));
    curve.y.push_back(std::lerp(from.y(), to.y(), eased) + 4.0 * arc * t * (1.0 - t));
  }
  return curve;
}

/// Returns buffered layer and head of the strongest direct reads, the strongest last.
std::vector<std::pair<Index, Index>> strongestDirect(const RouterFlow& flow, double threshold) {
  std::vector<std::pair<Index, Index>> reads;
  const double least = threshold * flow.direct.maxCoeff();
  for (Index s = 0; s < flow.direct.cols(); ++s) {
    for (Index h = 0; h < flow.direct.rows(); ++h) {
      const double share = flow.direct(h, s);
      if (share > 0.0 && share >= least) reads.emplace_back(s, h);
    }
  }
  std::ranges::stable_sort(reads, std::greater(),
                           [&](const auto& read) { return flow.direct(read.second, read.first); });
  reads.resize(std::min(reads.size(), kMaxDirect));
  std::ranges::reverse(reads);
  return reads;
}

CurvePanel diagram(const RouterFlow& flow, int layer, int head, double threshold,
                   std::vector<std::pair<int, int>>& nodes) {
  const auto heads = static_cast<double>(flow.direct.rows());
  const auto level = [heads](auto number) { return heads - 1.0 - static_cast<double>(number); };
  CurvePanel panel;
  const double strongest = std::max(flow.direct.maxCoeff(), 1e-12);
  const double strongest_edge = flow.edges.empty() ? 1.0 : flow.edges.front().amount;
  const double longest = static_cast<double>(layer) + 1.0;
  const auto arc = [longest](auto from, auto to) {
    return kArc * std::abs(static_cast<double>(from) - static_cast<double>(to)) / longest;
  };
  const std::size_t num_earlier = std::min(flow.edges.size(), kMaxEarlier);
  for (std::size_t e = num_earlier; e-- > 0;) {
    const auto* const edge = &flow.edges[e];
    if (edge->amount < threshold * strongest_edge) continue;
    Curve curve = bent({static_cast<double>(edge->layer) + kRoutedAt, level(edge->head)},
                       {static_cast<double>(edge->source_layer), level(edge->source_head)},
                       0.5 * edge->amount / strongest_edge,
                       edge->head == edge->source_head ? arc(edge->layer, edge->source_layer) : 0.0,
                       {.colour = kMutedColour, .is_faint = true});
    curve.label = "between earlier layers";
    panel.curves.push_back(std::move(curve));
  }
  for (const auto& [source, from] : strongestDirect(flow, threshold)) {
    const bool is_negative = flow.signs(from, source) < 0.0;
    Curve curve =
        bent({layer + 1.0, level(head)}, {static_cast<double>(source), level(from)},
             flow.direct(from, source) / strongest, from == head ? arc(layer + 1, source) : 0.0,
             {.colour = is_negative ? kNegativeColour : kPositiveColour});
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

RouterFlowFigure flowFigure(const CheckpointRouters& routers, int layer, int head,
                            const RouterDisplay& display) {
  const RouterFlow flow = router_flow(routers.routers(), layer, head);
  const int heads = static_cast<int>(flow.direct.rows());
  RouterFlowFigure flow_figure;
  FigurePanel left;
  left.title =
      fmt::format("layer {}, head {}", layer + display.layer_base, head + display.layer_base);
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
    panel->y.ticks = layer_ticks(heads, display.layer_base);
    for (AxisTick& tick : panel->y.ticks) tick.at = heads - 1 - tick.at;
  }
  left.x.min = -0.5;
  left.x.max = layer + 1.4;
  left.y.min = -0.6;
  left.y.max = heads - 0.4 + kArc;
  flow_figure.figure.name = "router-flow";
  flow_figure.figure.colour_label = "flow";
  flow_figure.figure.columns = 2;
  flow_figure.figure.is_wide = true;
  flow_figure.figure.panels = {std::move(left), std::move(right)};
  return flow_figure;
}

}  // namespace lime::explorer
