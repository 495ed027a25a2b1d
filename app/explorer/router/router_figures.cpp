// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_figures.h"

#include <numeric>

#include "viz/recipes/router_figures.h"

namespace lime::explorer {
namespace {

using Eigen::Index;

/// Returns the label of an axis of buffered layers.
std::string sourceLabel(const RouterDisplay& display) {
  return fmt::format("buffered layer ({}: embeddings)", display.layer_base);
}

constexpr double kNoCell = std::numeric_limits<double>::quiet_NaN();

/// 0, 1, ... or the columns of `values` by the sum of their magnitudes, the strongest first.
std::vector<int> orderOf(const Eigen::Ref<const MatrixD>& values, bool is_sorted) {
  std::vector<int> order(static_cast<std::size_t>(values.cols()));
  std::iota(order.begin(), order.end(), 0);
  const Eigen::RowVectorXd strength =
      values.array().isFinite().select(values.cwiseAbs(), 0.0).colwise().sum();
  if (is_sorted) std::ranges::stable_sort(order, {}, [&](int i) { return -strength(i); });
  return order;
}

/// Returns ticks of numbers in any order: of all where they are few.
std::vector<AxisTick> sortedTicks(const std::vector<int>& numbers, int base) {
  constexpr int kMaxTicks = 16;
  const int count = static_cast<int>(numbers.size());
  const int step = (count + kMaxTicks - 1) / kMaxTicks;
  std::vector<AxisTick> ticks;
  for (int i = 0; i < count; i += step) {
    const int number = numbers[static_cast<std::size_t>(i)];
    ticks.push_back({static_cast<double>(i), std::to_string(number + base)});
  }
  return ticks;
}

/// Content of a map before it is sorted and thresholded.
struct MapParts {
  MatrixD values;     ///< [target, source]
  int first_row = 0;  ///< targets before it are left out
  bool has_layer_rows = false;
  bool is_signed = false;
  std::optional<double> largest = {};
};

/// Returns the values of the routers, less those of the others if there are any.
template <typename Values>
MapParts partsOf(const RouterSubject& subject, const RouterDisplay& display, Values&& values_of) {
  MapParts parts{.values = values_of(*subject.routers)};
  if (subject.minus != nullptr) parts.values -= values_of(*subject.minus);
  parts.is_signed = display.is_signed || subject.minus != nullptr;
  return parts;
}

RouterMap mapOf(const MapParts& parts, const RouterDisplay& display) {
  RouterMap map;
  map.cols = orderOf(parts.values, display.is_sorted);
  map.rows = orderOf(parts.values.transpose(), display.is_sorted && !parts.has_layer_rows);
  std::erase_if(map.rows, [&](int row) { return row < parts.first_row; });
  std::reverse(map.rows.begin(), map.rows.end());  // the first one is at the top
  map.values.resize(static_cast<Index>(map.rows.size()), static_cast<Index>(map.cols.size()));
  const double largest =
      largestMagnitude(parts.values.bottomRows(parts.values.rows() - parts.first_row));
  for (Index r = 0; r < map.values.rows(); ++r) {
    for (Index c = 0; c < map.values.cols(); ++c) {
      map.values(r, c) = parts.values(map.rows[static_cast<std::size_t>(r)],
                                      map.cols[static_cast<std::size_t>(c)]);
    }
  }
  const double end = std::max(parts.largest.value_or(largest), 1e-12);
  map.figure.colour_range = std::pair(parts.is_signed ? -end : 0.0, end);
  map.figure.panel_aspect = static_cast<double>(map.rows.size()) /
                            static_cast<double>(std::max<std::size_t>(map.cols.size(), 1));
  const MatrixD shown =
      (map.values.array().abs() >= display.threshold * largest).select(map.values, kNoCell);
  const int base = display.layer_base;
  FigurePanel drawn = map_panel(
      shown.colwise().reverse(), {.numbers = numbers_from(base, static_cast<int>(map.cols.size()))},
      {.numbers = numbers_from(base + parts.first_row, static_cast<int>(map.rows.size())),
       .is_downward = true});
  if (display.is_sorted) drawn.x.ticks = sortedTicks(map.cols, base);
  if (display.is_sorted && !parts.has_layer_rows) drawn.y.ticks = sortedTicks(map.rows, base);
  auto& panel = std::get<HeatmapPanel>(drawn.content);
  panel.is_signed = parts.is_signed;
  panel.shows_numbers = map.values.size() <= 64;
  map.figure.panels = {std::move(drawn)};
  return map;
}

RouterMap mapOfLayers(MapParts parts, const RouterDisplay& display) {
  parts.first_row = parts.values.rows() > 1 ? 1 : 0;
  parts.has_layer_rows = true;
  RouterMap map = mapOf(parts, display);
  map.figure.panels.front().x.label = sourceLabel(display);
  map.figure.panels.front().y.label = "layer";
  return map;
}

std::string quantityLabel(const RouterDisplay& display, RouterQuantity quantity,
                          bool is_difference) {
  if (display.is_uniform && quantity == display.quantity()) return "fraction of |R| / uniform";
  std::string text = quantity == RouterQuantity::kShare         ? "fraction of |R|"
                     : quantity == RouterQuantity::kMagnitude   ? "|R|"
                     : quantity == RouterQuantity::kSignedShare ? "R as a fraction of |R|"
                                                                : "R";
  if (!display.weighting.empty()) text += " x rms of " + display.weighting;
  return is_difference ? "difference of " + text : text;
}

RouterQuantity withSign(const RouterDisplay& display) {
  return display.is_normalised ? RouterQuantity::kSignedShare : RouterQuantity::kSigned;
}

QString layerName(const RouterDisplay& display, int layer) {
  return u"layer %1"_s.arg(layer + display.layer_base);
}

/// Returns the name of a buffered layer: the first one is projected from the embeddings.
QString sourceName(const RouterDisplay& display, int layer) {
  return layerName(display, layer) + (layer == 0 ? u" (embeddings)"_s : QString());
}

/// Returns the number at a position of an axis of a map; nothing beyond its ends.
std::optional<int> numberAt(const std::vector<int>& numbers, double place) {
  if (!(place > -0.5 && place < static_cast<double>(numbers.size()) - 0.5)) return std::nullopt;
  return numbers[static_cast<std::size_t>(place + 0.5)];
}

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
             // As in heatmaps of signed weights: blue is negative.
             {.colour = is_negative ? 0U : 1U});
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

double largestMagnitude(const MatrixD& values) {
  return values.array().isFinite().select(values.cwiseAbs(), 0.0).maxCoeff();
}

QString weightText(double value) { return QString::number(value, 'f', 4); }

RouterQuantity RouterDisplay::quantity() const {
  if (is_signed) return withSign(*this);
  return is_normalised ? RouterQuantity::kShare : RouterQuantity::kMagnitude;
}

std::optional<std::pair<int, int>> RouterMap::cellAt(const FigureHit& hit) const {
  const std::optional<int> row = numberAt(rows, hit.y);
  const std::optional<int> col = numberAt(cols, hit.x);
  return row && col ? std::optional(std::pair(*row, *col)) : std::nullopt;
}
int RouterMap::placeOf(const std::vector<int>& numbers, int number) {
  const auto found = std::ranges::find(numbers, number);
  return found == numbers.end() ? -1 : static_cast<int>(found - numbers.begin());
}

RouterMap layerMap(const RouterSubject& subject, const RouterDisplay& display,
                   std::optional<double> largest) {
  MapParts parts = partsOf(subject, display, [&](const CheckpointRouters& routers) {
    return routers.layer_values(display.quantity());
  });
  parts.largest = largest;
  for (Index l = 0; display.is_uniform && l < parts.values.rows(); ++l) {
    parts.values.row(l) *= static_cast<double>(l + 1);
  }
  RouterMap map = mapOfLayers(std::move(parts), display);
  map.figure.name = "router-mean";
  map.figure.colour_label = quantityLabel(display, display.quantity(), subject.minus != nullptr);
  return map;
}

RouterMap signedMap(const MatrixD& values, bool of_layers, int layer_base, double largest) {
  const MapParts parts{.values = values, .is_signed = true, .largest = largest};
  const RouterDisplay display{.is_signed = true, .is_normalised = false, .layer_base = layer_base};
  return of_layers ? mapOfLayers(parts, display) : mapOf(parts, display);
}

RouterMap headMap(const RouterSubject& subject, int layer, const RouterDisplay& display) {
  MapParts parts = partsOf(subject, display, [&](const CheckpointRouters& routers) {
    return router_head_values(routers.routers(), layer, display.quantity());
  });
  if (display.is_uniform) parts.values *= layer + 1.0;
  RouterMap map = mapOf(parts, display);
  map.figure.name = "router-heads";
  map.figure.colour_label = quantityLabel(display, display.quantity(), subject.minus != nullptr);
  map.figure.panels.front().x.label = sourceLabel(display);
  map.figure.panels.front().y.label = "head of layer " + std::to_string(layer + display.layer_base);
  return map;
}

RouterOverview headOverview(const RouterSubject& subject, const RouterDisplay& display) {
  const int layers = static_cast<int>(subject.routers->num_layers());
  RouterOverview all;
  all.first_layer = layers > 1 ? 1 : 0;
  double end = 0.0;
  for (int layer = all.first_layer; layer < layers; ++layer) {
    all.maps.push_back(headMap(subject, layer, display));
    const Figure& own = all.maps.back().figure;
    end = std::max(end, own.colour_range->second);
    FigurePanel& panel = all.figure.panels.emplace_back(own.panels.front());
    panel.title = fmt::format("layer {}", layer + display.layer_base);
    panel.x.label = "buffered layer";
    panel.y.label = "head";
    std::get<HeatmapPanel>(panel.content).shows_numbers = false;
  }
  const Figure& last = all.maps.back().figure;
  all.figure.name = "router-heads";
  all.figure.colour_label = last.colour_label;
  all.figure.colour_range = std::pair(last.colour_range->first < 0.0 ? -end : 0.0, end);
  all.figure.columns = columns_for(all.figure.panels.size(), 0);
  all.figure.is_wide = true;
  all.figure.panel_aspect = 0.8;
  thin_out_labels(all.figure);
  return all;
}

RouterMap blockMap(const RouterSubject& subject, int layer, int source_layer,
                   const RouterDisplay& display) {
  const RouterQuantity quantity = withSign(display);
  MapParts parts = partsOf(subject, display, [&](const CheckpointRouters& routers) {
    return router_block_values(routers.routers(), layer, source_layer, quantity);
  });
  parts.is_signed = true;
  RouterMap map = mapOf(parts, display);
  map.figure.name = "router-weights";
  map.figure.colour_label = quantityLabel(display, quantity, subject.minus != nullptr);
  map.figure.panels.front().x.label =
      "head of buffered layer " + std::to_string(source_layer + display.layer_base);
  map.figure.panels.front().y.label = "head of layer " + std::to_string(layer + display.layer_base);
  return map;
}

QString describeSource(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       std::optional<int> head, int source_layer) {
  const auto valuesIn = [&](const CheckpointRouters& routers, RouterQuantity quantity) {
    const MatrixD values = router_head_values(routers.routers(), layer, quantity);
    return head ? MatrixD(values.row(*head)) : MatrixD(values.colwise().mean());
  };
  const auto shareIn = [&](const CheckpointRouters& routers) {
    const MatrixD magnitudes = valuesIn(routers, RouterQuantity::kMagnitude);
    return magnitudes(0, source_layer) / std::max(magnitudes.sum(), 1e-300);
  };
  const MatrixD magnitudes = valuesIn(*subject.routers, RouterQuantity::kMagnitude);
  const double weight = valuesIn(*subject.routers, RouterQuantity::kSigned)(0, source_layer);
  const double share = shareIn(*subject.routers);
  const auto count = static_cast<double>(magnitudes.cols());
  QString reader = layerName(display, layer);
  if (head) reader += u", head %1"_s.arg(*head + display.layer_base);
  QString text =
      u"%1 reads %2: fraction %3, %4 times uniform (1/%5 = %6); signed weight %7, rank "
      u"%8 of %5 layers"_s
          .arg(reader, sourceName(display, source_layer), weightText(share),
               QString::number(share * count, 'f', 2))
          .arg(magnitudes.cols())
          .arg(weightText(1.0 / count), weightText(weight))
          .arg((magnitudes.array() > magnitudes(0, source_layer)).count() + 1);
  if (subject.minus != nullptr) {
    text += u"; fraction in the other checkpoint %1"_s.arg(weightText(shareIn(*subject.minus)));
  }
  return text;
}

QString describeWeight(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       int head, int source_layer, int source_head) {
  const RouterWeight weight = subject.routers->weight(layer, head, source_layer, source_head);
  QString text = u"%1, head %2 reads %3, head %4: weight %5, fraction %6, rank %7 of %8 sources"_s
                     .arg(layerName(display, layer))
                     .arg(head + display.layer_base)
                     .arg(sourceName(display, source_layer))
                     .arg(source_head + display.layer_base)
                     .arg(weightText(weight.weight), weightText(weight.share))
                     .arg(weight.rank)
                     .arg(weight.num_sources);
  if (subject.minus != nullptr) {
    const RouterWeight other = subject.minus->weight(layer, head, source_layer, source_head);
    text += u"; weight in the other checkpoint %1"_s.arg(weightText(other.weight));
  }
  return text;
}

Selection completed(const Selection& selection, const CheckpointRouters& routers) {
  Selection whole = selection;
  const int layers = static_cast<int>(routers.num_layers());
  const int heads = static_cast<int>(routers.num_heads());
  const int layer = std::clamp(selection.layer.value_or(layers - 1), 0, layers - 1);
  whole.layer = layer;
  whole.head = std::clamp(selection.head.value_or(0), 0, heads - 1);
  if (selection.source_layer) {
    whole.source_layer = std::clamp(*selection.source_layer, 0, layer);
  } else {
    Index strongest = 0;
    router_head_values(routers.routers(), layer, RouterQuantity::kMagnitude)
        .colwise()
        .sum()
        .maxCoeff(&strongest);
    whole.source_layer = static_cast<int>(strongest);
  }
  if (selection.source_head) whole.source_head = std::clamp(*selection.source_head, 0, heads - 1);
  return whole;
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
    const Index layers = subject.routers->num_layers();
    for (Index l = std::min<Index>(1, layers - 1); l < layers; ++l) {
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
