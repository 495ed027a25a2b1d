// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_routes.h"

#include <QDoubleSpinBox>
#include <QHash>
#include <QPushButton>
#include <QSlider>

#include "explorer/interventions/edit_list.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

using Eigen::Index;

constexpr int kMaxAxisTicks = 16;
constexpr Index kMaxNumbers = 32;  // cells that have their values written into them
constexpr double kLargestScale = 100.0;
constexpr double kScaleStep = 0.25;
constexpr int kSliderSteps = 100;  // for a factor of 1

/// Scopes that show in a heatmap; the first is that of a cell.
constexpr std::array kLayerScopes = {RouteScope::kLayerSource, RouteScope::kLayer,
                                     RouteScope::kSource};
constexpr std::array kWeightScopes = {RouteScope::kWeight, RouteScope::kHeadSource,
                                      RouteScope::kHead, RouteScope::kSourceHead};

void mark(HeatmapPanel& panel, int row, int col, RouteState state) {
  if (state != RouteState::kOriginal) panel.marks.push_back({row, col, state == RouteState::kOff});
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

QRectF cellsArea(int row, int col, int rows, int cols) {
  return {col - 0.5, row - 0.5, static_cast<double>(cols), static_cast<double>(rows)};
}

}  // namespace

RouterMap editedLayerMap(const EditedRouters& routers, int layer_base) {
  const MatrixD& trained = routers.trained().layer_values(RouterQuantity::kSigned);
  const Index later = std::max<Index>(trained.rows() - 1, 1);  // layer 0 has nothing to select
  RouterMap map = signedMap(routers.layer_values(), true, layer_base,
                            largestMagnitude(trained.bottomRows(later)));
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
  const auto heads = static_cast<int>(routers.trained().num_heads());
  const MatrixD& trained = routers.trained().routers().weights[static_cast<std::size_t>(layer)];
  const MatrixD scales = isEdited(routers, layer)
                             ? routers.scales(layer)
                             : MatrixD(MatrixD::Ones(trained.rows(), trained.cols()));
  RouterMap map =
      signedMap(trained.cwiseProduct(scales), false, layer_base, largestMagnitude(trained));
  FigurePanel& drawn = map.figure.panels.front();
  auto& panel = std::get<HeatmapPanel>(drawn.content);
  for (int row = 0; row < heads; ++row) {
    for (int col = 0; col < scales.cols(); ++col) {
      mark(panel, heads - 1 - row, col, stateOf(scales(row, col)));
    }
  }
  panel.shows_numbers = scales.size() <= kMaxNumbers;
  drawn.x.ticks.clear();
  const int step = (layer + kMaxAxisTicks) / kMaxAxisTicks;
  for (int source = 0; source <= layer; ++source) {
    if (source > 0) panel.col_borders.push_back(source * heads);
    if (source % step != 0) continue;
    drawn.x.ticks.push_back(
        {source * heads + 0.5 * (heads - 1), std::to_string(source + layer_base)});
  }
  drawn.x.label = "heads of buffered layer";
  drawn.y.label = "head of layer " + std::to_string(layer + layer_base);
  map.figure.name = "router-edited-layer";
  map.figure.colour_label = "R";
  map.figure.is_wide = true;
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

InterventionRoutes::InterventionRoutes(InterventionEdits& edits)
    : edits_(edits),
      layers_(new FigurePane(u"edited weights between layers"_s)),
      weights_(new FigurePane(u"edited weights of a layer"_s)),
      controls_(new QWidget),
      scope_(new QComboBox),
      slider_(new QSlider(Qt::Horizontal)),
      scale_(new QDoubleSpinBox),
      off_(new QPushButton(u"&Ablate"_s)),
      restore_(new QPushButton(u"&Restore"_s)),
      list_(new EditList(edits, u"edits"_s)) {
  makeControls();
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeSplitter(Qt::Vertical, {layers_, weights_}, {300, 180}), 1);
  column->addWidget(controls_);
  column->addWidget(list_);
  layers_->plot().setKeepsAspect(true);
  for (FigurePane* const pane : {layers_, weights_}) {
    pane->plot().setDescriber([this, pane](const FigureHit& hit) {
      const std::optional<Selection> selection = selectionAt(pane, hit);
      return selection ? describe(pane, *selection) : QString();
    });
    connect(&pane->plot(), &FigureView::clicked, this, [this, pane](const FigureHit& hit) {
      if (const auto selection = selectionAt(pane, hit)) select(pane, *selection);
    });
  }
  connect(&edits_, &InterventionEdits::modelReset, this, &InterventionRoutes::showScope);
  connect(&edits_, &InterventionEdits::scaleEntered, this, &InterventionRoutes::scaleRequested);
  connect(list_, &EditList::removalRequested, this, &InterventionRoutes::removeEdits);
}

void InterventionRoutes::makeControls() {
  scope_->setAccessibleName(u"edited routes"_s);
  scope_->setToolTip(
      u"Routes around the selected cell that are edited: one weight, or all of a head, a layer or "
      u"a source. A route is a weight by which a head mixes the keys and values of a buffered head "
      u"into its own"_s);
  scope_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  scope_->setMinimumContentsLength(14);
  scope_->addItems(QStringList(kNumRouteScopes));
  slider_->setRange(0, 2 * kSliderSteps);
  slider_->setPageStep(kSliderSteps / 4);
  slider_->setMinimumWidth(70);
  slider_->setAccessibleName(u"scale of the routes, percent"_s);
  scale_->setRange(-kLargestScale, kLargestScale);
  scale_->setSingleStep(kScaleStep);
  scale_->setDecimals(3);
  scale_->setKeyboardTracking(false);
  scale_->setPrefix(u"× "_s);
  scale_->setAccessibleName(u"scale of the routes"_s);
  for (QWidget* const widget : {static_cast<QWidget*>(slider_), static_cast<QWidget*>(scale_)}) {
    widget->setToolTip(
        u"Factor of the selected weights: 0 ablates them, 1 keeps the original weights, -1 inverts "
        u"their signs"_s);
  }
  off_->setToolTip(u"Scale the selected routes by 0 (0 or Delete on a heatmap)"_s);
  restore_->setToolTip(u"Remove the edit of these routes (1 on a heatmap)"_s);
  auto* const routes = new QLabel(u"Rou&tes"_s);
  routes->setBuddy(scope_);
  auto* const scale = new QLabel(u"&Scale"_s);
  scale->setBuddy(scale_);
  scope_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  auto* const rows = new QVBoxLayout(controls_);
  rows->setContentsMargins(12, 6, 12, 6);
  auto* const what = new BarLayout;
  what->addWidget(routes);
  what->addWidget(scope_);
  auto* const how = new BarLayout;
  for (QWidget* const widget :
       std::initializer_list<QWidget*>{scale, scale_, slider_, off_, restore_}) {
    how->addWidget(widget);
  }
  rows->addLayout(what);
  rows->addLayout(how);
  connect(scope_, &QComboBox::activated, this, &InterventionRoutes::selectScope);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int value) { requestScale(static_cast<double>(value) / kSliderSteps); });
  connect(scale_, &QDoubleSpinBox::valueChanged, this, &InterventionRoutes::requestScale);
  connect(off_, &QPushButton::clicked, this, [this] { requestScale(0.0); });
  connect(restore_, &QPushButton::clicked, this, [this] { requestScale(1.0); });
}

void InterventionRoutes::setRouters(const EditedRouters* routers, const Selection& selection,
                                    const QString& message, const Preferences& preferences) {
  routers_ = routers;
  selection_ = selection;
  layer_base_ = preferences.layer_base;
  controls_->setEnabled(routers_ != nullptr);
  list_->setEnabled(routers_ != nullptr);
  const FigureStyle style = screenStyle(*this, preferences);
  if (routers_ == nullptr) {
    for (FigurePane* const pane : {layers_, weights_}) {
      pane->plot().setFigureStyle(style);
      pane->show(std::nullopt, pane == layers_ ? message : QString());
    }
    layers_layout_ = weights_layout_ = {};
    return;
  }
  const int layer = *selection_.layer;
  layer_map_ = editedLayerMap(*routers_, layer_base_);
  drawMap(*layers_, layer_map_, layers_layout_,
          {routers_, 0, layer_base_, style.theme, style.font_size}, style);
  weight_map_ = editedWeightMap(*routers_, layer, layer_base_);
  drawMap(*weights_, weight_map_, weights_layout_,
          {routers_, layer, layer_base_, style.theme, style.font_size}, style);
  layers_->setCaption(u"Signed router weights per layer, edited"_s);
  weights_->setCaption(u"Router weights of layer %1, edited"_s.arg(layer + layer_base_));
  for (int i = 0; i < scope_->count(); ++i) {
    scope_->setItemText(i, routesText(routesOf(RouteScope{i}, selection), layer_base_));
  }
  showScope();
}

void InterventionRoutes::drawMap(FigurePane& pane, RouterMap& map, Layout& drawn,
                                 const Layout& layout, const FigureStyle& style) {
  if (drawn == layout) {
    auto& panel = std::get<HeatmapPanel>(map.figure.panels.front().content);
    pane.plot().updateMap(0, std::move(panel.values), std::move(panel.marks));
  } else {
    pane.plot().setFigureStyle(style);
    pane.plot().setFigure(std::move(map.figure));
    drawn = layout;
  }
  map.figure = {};  // the plot has it
}

std::optional<Selection> InterventionRoutes::selectionAt(const FigurePane* pane,
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

QString InterventionRoutes::describe(const FigurePane* pane, const Selection& selection) const {
  return pane == layers_
             ? describeEditedLayer(*routers_, layer_base_, *selection.layer,
                                   *selection.source_layer)
             : describeEditedWeight(*routers_, layer_base_, *selection.layer, *selection.head,
                                    *selection.source_layer, *selection.source_head);
}

void InterventionRoutes::setScope(RouteScope scope) {
  scope_->setCurrentIndex(static_cast<int>(scope));
  showScope();
}

RouterEdit InterventionRoutes::selected() const {
  RouterEdit routes = routesOf(scope(), selection_);
  routes.scale = edits_.scaleOf(routes);
  return routes;
}

void InterventionRoutes::showScope() {
  if (routers_ == nullptr) return;
  mark();
  const double scale = selected().scale;
  const QSignalBlocker quiet_slider(slider_);
  const QSignalBlocker quiet_scale(scale_);
  slider_->setValue(static_cast<int>(std::clamp(scale, 0.0, 2.0) * kSliderSteps + 0.5));
  scale_->setValue(scale);
  off_->setEnabled(scale != 0.0);
  restore_->setEnabled(scale != 1.0);
}

void InterventionRoutes::selectScope(int scope) {
  setScope(RouteScope{scope});
  Q_EMIT scopeSelected();
}

void InterventionRoutes::requestScale(double scale) {
  if (routers_ == nullptr) return;
  RouterEdit routes = selected();
  if (routes.scale == scale) return;
  routes.scale = scale;
  Q_EMIT scaleRequested(routes);
}

void InterventionRoutes::walk(int rows, int cols) {
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
  select(pane, selection);
  Q_EMIT status(describe(pane, selection));
}

void InterventionRoutes::mark() {
  const RouterEdit routes = routesOf(scope(), selection_);
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

void InterventionRoutes::select(const FigurePane* pane, const Selection& selection) {
  // A click selects the scope of a cell, unless the present scope fits the heatmap.
  const std::span<const RouteScope> fitting =
      pane == layers_ ? std::span<const RouteScope>(kLayerScopes) : kWeightScopes;
  if (std::ranges::find(fitting, scope()) == fitting.end()) {
    scope_->setCurrentIndex(static_cast<int>(fitting.front()));
  }
  // Another selection is drawn when the workspace announces it.
  if (selection == selection_) {
    showScope();
  } else {
    Q_EMIT selectionRequested(selection);
  }
}

bool InterventionRoutes::handleKey(QKeyEvent& event) {
  static const QHash<int, double> scales = {{Qt::Key_0, 0.0},
                                            {Qt::Key_Delete, 0.0},
                                            {Qt::Key_1, 1.0},
                                            {Qt::Key_Backspace, 1.0},
                                            {Qt::Key_2, 2.0}};
  const QPointF direction = arrowDirection(event);
  const int key = event.key();
  if (!direction.isNull()) {
    walk(static_cast<int>(direction.y()), static_cast<int>(direction.x()));
  } else if (scales.contains(key)) {
    requestScale(scales[key]);
  } else if (key == Qt::Key_BracketLeft || key == Qt::Key_BracketRight) {
    requestScale(selected().scale + (key == Qt::Key_BracketLeft ? -kScaleStep : kScaleStep));
  } else if (key == Qt::Key_Space) {
    const int step = event.modifiers().testFlag(Qt::ShiftModifier) ? scope_->count() - 1 : 1;
    selectScope((scope_->currentIndex() + step) % scope_->count());
    Q_EMIT status(scope_->currentText());
  } else {
    return false;
  }
  return true;
}

void InterventionRoutes::keyPressEvent(QKeyEvent* event) {
  const bool is_plain = !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  if (routers_ != nullptr && (layers_->plot().hasFocus() || weights_->plot().hasFocus()) &&
      is_plain && handleKey(*event))
    return;
  QWidget::keyPressEvent(event);
}

void InterventionRoutes::removeEdits(const std::vector<int>& rows) {
  std::vector<RouterEdit> gone;
  for (const int row : rows) gone.push_back(edits_.at(row));
  for (RouterEdit& edit : gone) {
    edit.scale = 1.0;
    Q_EMIT scaleRequested(edit);
  }
}

}  // namespace lime::explorer
