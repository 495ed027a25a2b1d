// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/route_maps.h"

#include <numeric>

#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

using Eigen::Index;

constexpr int kMostAxisTicks = 16;
constexpr Index kMostNumbers = 32;  // cells that have their values written into them

void mark(HeatmapPanel& panel, int row, int col, RouteState state) {
  if (state == RouteState::kOriginal) return;
  panel.marks.push_back({row, col, state == RouteState::kOff});
}

/// Returns the state of one weight.
RouteState stateOf(double scale) {
  if (scale == 1.0) return RouteState::kOriginal;
  return scale == 0.0 ? RouteState::kOff : RouteState::kScaled;
}

bool isEdited(const EditedRouters& routers, int layer) {
  for (int source = 0; source <= layer; ++source) {
    if (routers.state(layer, source) != RouteState::kOriginal) return true;
  }
  return false;
}

/// "was 0.1234" where an edit has changed it.
QString wasText(double edited, double trained) {
  if (edited == trained) return u"original"_s;
  return u"was %1"_s.arg(weightText(trained));
}

const std::vector<RouteScope> kLayerScopes = {RouteScope::kLayerSource, RouteScope::kLayer,
                                              RouteScope::kSource};
const std::vector<RouteScope> kWeightScopes = {RouteScope::kWeight, RouteScope::kHeadSource,
                                               RouteScope::kHead, RouteScope::kSourceHead};

QRectF cellsArea(int row, int col, int rows, int cols) {
  return {col - 0.5, row - 0.5, static_cast<double>(cols), static_cast<double>(rows)};
}

}  // namespace

RouterMap editedLayerMap(const EditedRouters& routers, int layer_base) {
  RouterDisplay display;
  display.is_signed = true;
  display.is_normalised = false;
  display.layer_base = layer_base;
  const MatrixD& trained = routers.trained().layer_values(RouterQuantity::kSigned);
  const Index later = std::max<Index>(trained.rows() - 1, 1);  // layer 0 has nothing to select
  RouterMap map =
      signedLayerMap(routers.layer_values(), display, largestMagnitude(trained.bottomRows(later)));
  map.figure.name = "router-edited";
  map.figure.colour_label = "R, sum over buffered heads";
  auto& panel = std::get<HeatmapPanel>(map.figure.panels.front().content);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (int source = 0; source <= map.rows[row]; ++source) {
      mark(panel, static_cast<int>(row), source, routers.state(map.rows[row], source));
    }
  }
  return map;
}

RouterMap editedWeightMap(const EditedRouters& routers, int layer, int layer_base) {
  const Index heads = routers.trained().num_heads();
  const MatrixD& trained = routers.trained().routers().weights[static_cast<std::size_t>(layer)];
  RouterMap map;
  map.rows.resize(static_cast<std::size_t>(heads));
  std::iota(map.rows.rbegin(), map.rows.rend(), 0);  // head 0 is at the top
  map.cols.resize(static_cast<std::size_t>(trained.cols()));
  std::iota(map.cols.begin(), map.cols.end(), 0);

  HeatmapPanel panel;
  panel.is_signed = true;
  panel.shows_numbers = trained.size() <= kMostNumbers;
  if (isEdited(routers, layer)) {
    const MatrixD scales = routers.scales(layer);
    panel.values = trained.cwiseProduct(scales).colwise().reverse();
    for (Index row = 0; row < heads; ++row) {
      for (Index col = 0; col < trained.cols(); ++col) {
        mark(panel, static_cast<int>(heads - 1 - row), static_cast<int>(col),
             stateOf(scales(row, col)));
      }
    }
  } else {
    panel.values = trained.colwise().reverse();
  }
  FigurePanel drawn;
  const int step = (layer + kMostAxisTicks) / kMostAxisTicks;
  for (int source = 0; source <= layer; ++source) {
    if (source > 0) panel.col_borders.push_back(static_cast<int>(source * heads));
    if (source % step != 0) continue;
    const double middle =
        static_cast<double>(source * heads) + 0.5 * static_cast<double>(heads - 1);
    drawn.x.ticks.push_back({middle, std::to_string(source + layer_base)});
  }
  for (int head = 0; head < heads;
       head += static_cast<int>((heads + kMostAxisTicks - 1) / kMostAxisTicks)) {
    drawn.y.ticks.push_back(
        {static_cast<double>(heads - 1 - head), std::to_string(head + layer_base)});
  }
  drawn.x.label = "heads of buffered layer";
  drawn.y.label = "head of layer " + std::to_string(layer + layer_base);
  drawn.content = std::move(panel);
  map.figure.panels = {std::move(drawn)};
  map.figure.name = "router-edited-layer";
  map.figure.colour_label = "R";
  const double end = std::max(trained.cwiseAbs().maxCoeff(), 1e-12);
  map.figure.colour_range = std::pair(-end, end);
  map.figure.is_wide = true;
  map.figure.panel_aspect = static_cast<double>(heads) / static_cast<double>(trained.cols());
  return map;
}

QString describeEditedLayer(const EditedRouters& routers, int layer_base, int layer,
                            int source_layer) {
  const double edited = routers.layer_values()(layer, source_layer);
  const double trained =
      routers.trained().layer_values(RouterQuantity::kSigned)(layer, source_layer);
  return u"layer %1 reads layer %2: signed weight %3, %4"_s.arg(layer + layer_base)
      .arg(source_layer + layer_base)
      .arg(weightText(edited), wasText(edited, trained));
}

QString describeEditedWeight(const EditedRouters& routers, int layer_base, int layer, int head,
                             int source_layer, int source_head) {
  const RouterWeight trained = routers.trained().weight(layer, head, source_layer, source_head);
  const double edited = routers.weight(layer, head, source_layer, source_head);
  return u"head %1 of layer %2 reads head %3 of layer %4: weight %5, %6; original rank %7 of %8 "
         u"sources"_s.arg(head + layer_base)
             .arg(layer + layer_base)
             .arg(source_head + layer_base)
             .arg(source_layer + layer_base)
             .arg(weightText(edited), wasText(edited, trained.weight))
             .arg(trained.rank)
             .arg(trained.num_sources);
}

RouteMaps::RouteMaps()
    : layers_(new FigurePane(u"edited weights between layers"_s)),
      weights_(new FigurePane(u"edited weights of a layer"_s)) {
  layers_->plot().setKeepsAspect(true);
  fillWithColumn(*this)->addWidget(makeSplitter(Qt::Vertical, {layers_, weights_}, {300, 180}));
  for (FigurePane* const pane : {layers_, weights_}) {
    pane->plot().setDescriber([this, pane](const FigureHit& hit) {
      const std::optional<Selection> selection = selectionAt(pane, hit);
      return selection ? describe(pane, *selection) : QString();
    });
    connect(&pane->plot(), &FigureView::clicked, this, [this, pane](const FigureHit& hit) {
      const std::optional<Selection> selection = selectionAt(pane, hit);
      if (!selection) return;
      Q_EMIT selectionRequested(*selection, pane == layers_ ? kLayerScopes : kWeightScopes);
    });
  }
}

bool RouteMaps::hasMapFocus() const {
  return layers_->plot().hasFocus() || weights_->plot().hasFocus();
}

void RouteMaps::draw(const EditedRouters* routers, const Selection& selection,
                     const QString& message, const Preferences& preferences) {
  routers_ = routers;
  selection_ = selection;
  layer_base_ = preferences.layer_base;
  const FigureStyle style = screenStyle(*this, preferences);
  if (routers_ == nullptr) {
    for (FigurePane* const pane : {layers_, weights_}) {
      pane->plot().setFigureStyle(style);
      pane->show(std::nullopt, pane == layers_ ? message : QString());
    }
    layers_layout_ = {};
    weights_layout_ = {};
    return;
  }
  Layout wanted{routers_, 0, layer_base_, style.theme, style.font_size};
  layer_map_ = editedLayerMap(*routers_, layer_base_);
  drawMap(*layers_, layer_map_, layers_layout_, wanted, style);
  wanted.layer = *selection_.layer;
  weight_map_ = editedWeightMap(*routers_, wanted.layer, layer_base_);
  drawMap(*weights_, weight_map_, weights_layout_, wanted, style);
  layers_->setCaption(u"Signed router weights per layer, edited"_s);
  weights_->setCaption(
      u"Router weights of layer %1, edited"_s.arg(*selection_.layer + layer_base_));
}

void RouteMaps::drawMap(FigurePane& pane, RouterMap& map, Layout& drawn, const Layout& wanted,
                        const FigureStyle& style) {
  if (drawn == wanted) {
    auto& panel = std::get<HeatmapPanel>(map.figure.panels.front().content);
    pane.plot().updateMap(0, std::move(panel.values), std::move(panel.marks));
  } else {
    pane.plot().setFigureStyle(style);
    pane.plot().setFigure(std::move(map.figure));
    drawn = wanted;
  }
  map.figure = {};  // the plot has it
}

std::optional<Selection> RouteMaps::selectionAt(const FigurePane* pane,
                                                const FigureHit& hit) const {
  const bool is_layers = pane == layers_;
  const auto cell = (is_layers ? layer_map_ : weight_map_).cellAt(hit);
  // No layer reads the layers above it.
  if (routers_ == nullptr || !cell || (is_layers && cell->second > cell->first)) {
    return std::nullopt;
  }
  Selection selection = selection_;
  if (is_layers) {
    std::tie(selection.layer, selection.source_layer) = *cell;
  } else {
    selection.head = cell->first;
    selection.source_layer = cell->second / numHeads();
    selection.source_head = cell->second % numHeads();
  }
  return selection;
}

QString RouteMaps::describe(const FigurePane* pane, const Selection& one) const {
  return pane == layers_
             ? describeEditedLayer(*routers_, layer_base_, *one.layer, *one.source_layer)
             : describeEditedWeight(*routers_, layer_base_, *one.layer, *one.head,
                                    *one.source_layer, *one.source_head);
}

void RouteMaps::walk(int rows, int cols) {
  const FigurePane* const pane = weights_->plot().hasFocus() ? weights_ : layers_;
  Selection selection = selection_;
  if (pane == weights_) {
    selection.head = std::clamp(*selection.head + rows, 0, numHeads() - 1);
    const int columns = static_cast<int>(weight_map_.cols.size());
    const int column = std::clamp(
        *selection.source_layer * numHeads() + *selection.source_head + cols, 0, columns - 1);
    selection.source_layer = column / numHeads();
    selection.source_head = column % numHeads();
  } else {
    const int last = static_cast<int>(routers_->trained().num_layers()) - 1;
    selection.layer = std::clamp(*selection.layer + rows, 1, last);
    selection.source_layer = std::clamp(*selection.source_layer + cols, 0, *selection.layer);
  }
  Q_EMIT selectionRequested(selection, pane == layers_ ? kLayerScopes : kWeightScopes);
  Q_EMIT status(describe(pane, selection));
}

void RouteMaps::mark(RouteScope scope) {
  if (routers_ == nullptr) return;
  const RouterEdit routes = routesOf(scope, selection_);
  const int source = *selection_.source_layer;
  const int heads = numHeads();
  const int columns = static_cast<int>(weight_map_.cols.size());
  const int last = layer_map_.rowOf(static_cast<int>(routers_->trained().num_layers()) - 1);
  const int first = layer_map_.rowOf(std::max(source, 1));  // the topmost reader
  const QRectF layers =
      !routes.layer   ? cellsArea(last, source, first - last + 1, 1)
      : routes.source ? cellsArea(layer_map_.rowOf(*selection_.layer), source, 1, 1)
                      : cellsArea(layer_map_.rowOf(*selection_.layer), 0, 1, *selection_.layer + 1);
  const auto [column, width] = routes.source_head
                                   ? std::pair(source * heads + *selection_.source_head, 1)
                               : routes.source ? std::pair(source * heads, heads)
                                               : std::pair(0, columns);
  const int row = routes.head ? weight_map_.rowOf(*selection_.head) : 0;
  layers_->plot().setMarks({{0, layers, true}});
  weights_->plot().setMarks({{0, cellsArea(row, column, routes.head ? 1 : heads, width), true}});
}

}  // namespace lime::explorer
