// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/surgery_routes.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/theme.h"

namespace lime::explorer {
namespace {

constexpr double kLargestScale = 100.0;
constexpr double kScaleStep = 0.25;
constexpr int kSliderSteps = 100;  // for a factor of 1

QRectF cellsArea(int row, int col, int rows, int cols) {
  return {col - 0.5, row - 0.5, static_cast<double>(cols), static_cast<double>(rows)};
}

}  // namespace

SurgeryRoutes::SurgeryRoutes(SurgeryEdits& edits, QWidget* parent)
    : QWidget(parent),
      edits_(edits),
      layers_(new FigurePane(QStringLiteral("edited weights between layers"))),
      weights_(new FigurePane(QStringLiteral("edited weights of a layer"))) {
  layOut();
  for (FigurePane* const pane : {layers_, weights_}) {
    connect(&pane->plot(), &FigureView::hovered, this,
            [this, pane](const FigureHit& hit) { describe(pane, hit); });
    connect(&pane->plot(), &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
  }
  connect(&layers_->plot(), &FigureView::clicked, this, &SurgeryRoutes::clickLayers);
  connect(&weights_->plot(), &FigureView::clicked, this, &SurgeryRoutes::clickWeights);
  connect(scope_, &QComboBox::activated, this, [this] {
    mark();
    showScale();
    Q_EMIT scopeChosen();
  });
  connect(slider_, &QSlider::valueChanged, this,
          [this](int value) { want(static_cast<double>(value) / kSliderSteps); });
  connect(scale_, &QDoubleSpinBox::valueChanged, this, [this](double value) { want(value); });
  connect(off_, &QPushButton::clicked, this, [this] { want(0.0); });
  connect(trained_, &QPushButton::clicked, this, [this] { want(1.0); });
  connect(&edits_, &SurgeryEdits::modelReset, this, [this] { showScale(); });
  connect(&edits_, &SurgeryEdits::scaleEntered, this, &SurgeryRoutes::scaleWanted);
}

void SurgeryRoutes::layOut() {
  for (FigurePane* const pane : {layers_, weights_}) {
    pane->plot().setKeepsAspect(true);
    pane->plot().installEventFilter(this);
  }
  weights_->plot().setKeepsAspect(false);
  QSplitter* const maps = makeSplitter(Qt::Vertical, {layers_, weights_}, {300, 180});
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(maps, 1);
  column->addWidget(makeControls());
  column->addWidget(makeList());
}

QWidget* SurgeryRoutes::makeControls() {
  auto* const controls = new QWidget;
  scope_ = new QComboBox;
  scope_->setAccessibleName(QStringLiteral("routes that are edited"));
  scope_->setToolTip(QStringLiteral(
      "Which routes around the chosen cell are edited: one weight, or all of a head, a layer, or "
      "of what is read. A route is a weight by which a head mixes the keys and values of a "
      "buffered head into its own"));
  scope_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  scope_->setMinimumContentsLength(20);
  for (const RouteScope scope : kRouteScopes) scope_->addItem({}, static_cast<int>(scope));
  slider_ = new QSlider(Qt::Horizontal);
  slider_->setRange(0, 2 * kSliderSteps);
  slider_->setPageStep(kSliderSteps / 4);
  slider_->setAccessibleName(QStringLiteral("scale of the routes, percent"));
  scale_ = new QDoubleSpinBox;
  scale_->setRange(-kLargestScale, kLargestScale);
  scale_->setSingleStep(kScaleStep);
  scale_->setDecimals(3);
  scale_->setKeyboardTracking(false);
  scale_->setPrefix(QStringLiteral("× "));
  scale_->setAccessibleName(QStringLiteral("scale of the routes"));
  for (QWidget* const widget : {static_cast<QWidget*>(slider_), static_cast<QWidget*>(scale_)}) {
    widget->setToolTip(QStringLiteral(
        "Factor of the chosen weights: 0 switches them off, 1 leaves them as trained, -1 turns "
        "their signs"));
  }
  off_ = new QPushButton(QStringLiteral("Switch &off"));
  off_->setToolTip(QStringLiteral("Scales the chosen routes by 0 (0 or Delete on a map)"));
  trained_ = new QPushButton(QStringLiteral("&As trained"));
  trained_->setToolTip(QStringLiteral("Takes the edit of these routes away (1 on a map)"));
  auto* const routes = new QLabel(QStringLiteral("&Routes"));
  routes->setBuddy(scope_);
  auto* const scale = new QLabel(QStringLiteral("&Scale"));
  scale->setBuddy(scale_);
  auto* const grid = new QGridLayout(controls);
  grid->setContentsMargins(12, 6, 12, 6);
  grid->addWidget(routes, 0, 0);
  grid->addWidget(scope_, 0, 1, 1, 4);
  grid->addWidget(scale, 1, 0);
  grid->addWidget(slider_, 1, 1);
  grid->addWidget(scale_, 1, 2);
  grid->addWidget(off_, 1, 3);
  grid->addWidget(trained_, 1, 4);
  grid->setColumnStretch(1, 1);
  return controls;
}

QWidget* SurgeryRoutes::makeList() {
  list_ = makeTable(edits_, QStringLiteral("edits"));
  list_->setToolTip(QStringLiteral("Edits: Delete takes one away, F2 changes its scale"));
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  QHeaderView* const header = list_->horizontalHeader();
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  header->setResizeContentsPrecision(0);  // of what is seen: there may be many edits
  header->setSectionResizeMode(SurgeryEdits::kRoutes, QHeaderView::Stretch);
  header->setHighlightSections(false);
  constexpr int kLines = 4;
  list_->setFixedHeight(header->sizeHint().height() +
                        kLines * list_->verticalHeader()->defaultSectionSize());
  list_->installEventFilter(this);
  auto* const frame = new QWidget;
  auto* const column = new QVBoxLayout(frame);
  column->setContentsMargins(12, 0, 12, 0);
  column->addWidget(list_);
  return frame;
}

void SurgeryRoutes::setPreferences(const Preferences& preferences) { preferences_ = preferences; }

void SurgeryRoutes::setRouters(const EditedRouters* routers, const Selection& selection,
                               const QString& message) {
  routers_ = routers;
  selection_ = selection;
  for (QWidget* const widget :
       std::initializer_list<QWidget*>{scope_, slider_, scale_, off_, trained_, list_}) {
    widget->setEnabled(routers_ != nullptr);
  }
  layers_->plot().setMessage(message);
  draw();
}

void SurgeryRoutes::draw() {
  if (routers_ == nullptr) {
    for (FigurePane* const pane : {layers_, weights_}) {
      pane->setCaption({});
      pane->plot().setFigureStyle(screenStyle(*this, preferences_));
      pane->plot().setFigure(std::nullopt);
    }
    layers_layout_ = {};
    weights_layout_ = {};
    return;
  }
  const int base = preferences_.layer_base;
  const FigureStyle style = screenStyle(*this, preferences_);
  Layout wanted{routers_, 0, base, style.theme, style.font_size};
  layer_map_ = editedLayerMap(*routers_, base);
  show(*layers_, layer_map_, layers_layout_, wanted);
  wanted.layer = *selection_.layer;
  weight_map_ = editedWeightMap(*routers_, wanted.layer, base);
  show(*weights_, weight_map_, weights_layout_, wanted);
  layers_->setCaption(QStringLiteral("What each layer reads, with its sign, after the edits"));
  weights_->setCaption(QStringLiteral("Every weight of layer %1's router, after the edits")
                           .arg(*selection_.layer + base));
  listScopes();
  mark();
  showScale();
}

void SurgeryRoutes::show(FigurePane& pane, RouterMap& map, Layout& drawn, const Layout& wanted) {
  if (drawn == wanted) {
    auto& panel = std::get<MapPanel>(map.figure.panels.front().content);
    pane.plot().updateMap(0, std::move(panel.values), std::move(panel.marks));
  } else {
    pane.plot().setFigureStyle(screenStyle(*this, preferences_));
    pane.plot().setFigure(std::move(map.figure));
    drawn = wanted;
  }
  map.figure = {};  // the plot has it
}

void SurgeryRoutes::listScopes() {
  for (int i = 0; i < scope_->count(); ++i) {
    const auto scope = static_cast<RouteScope>(scope_->itemData(i).toInt());
    scope_->setItemText(i, routesText(routesOf(scope, selection_), preferences_.layer_base));
  }
}

RouteScope SurgeryRoutes::scope() const {
  return static_cast<RouteScope>(scope_->currentData().toInt());
}

void SurgeryRoutes::setScope(RouteScope scope) {
  scope_->setCurrentIndex(scope_->findData(static_cast<int>(scope)));
  if (routers_ == nullptr) return;
  mark();
  showScale();
}

RouterEdit SurgeryRoutes::chosen() const {
  RouterEdit routes = routesOf(scope(), selection_);
  routes.scale = edits_.scaleOf(routes);
  return routes;
}

void SurgeryRoutes::showScale() {
  if (routers_ == nullptr) return;
  const double scale = chosen().scale;
  const QSignalBlocker quiet_slider(slider_);
  const QSignalBlocker quiet_scale(scale_);
  slider_->setValue(static_cast<int>(std::clamp(scale, 0.0, 2.0) * kSliderSteps + 0.5));
  scale_->setValue(scale);
  off_->setEnabled(scale != 0.0);
  trained_->setEnabled(scale != 1.0);
}

void SurgeryRoutes::want(double scale) {
  if (routers_ == nullptr) return;
  RouterEdit routes = chosen();
  if (routes.scale == scale) return;
  routes.scale = scale;
  Q_EMIT scaleWanted(routes);
}

void SurgeryRoutes::mark() {
  const int layer = *selection_.layer;
  const int source = *selection_.source_layer;
  const int heads = static_cast<int>(weight_map_.rows.size());
  const int row = layer_map_.rowOf(layer);
  const int head_row = weight_map_.rowOf(*selection_.head);
  const int column = source * heads + *selection_.source_head;
  const int columns = static_cast<int>(weight_map_.cols.size());
  const int last = layer_map_.rowOf(static_cast<int>(routers_->trained().num_layers()) - 1);
  const int first = layer_map_.rowOf(std::max(source, 1));  // the topmost that can read it
  QRectF layers = cellsArea(row, source, 1, 1);
  QRectF weights;
  switch (scope()) {
    case RouteScope::kWeight:
      weights = cellsArea(head_row, column, 1, 1);
      break;
    case RouteScope::kHeadSource:
      weights = cellsArea(head_row, source * heads, 1, heads);
      break;
    case RouteScope::kHead:
      layers = cellsArea(row, 0, 1, layer + 1);
      weights = cellsArea(head_row, 0, 1, columns);
      break;
    case RouteScope::kLayerSource:
      weights = cellsArea(0, source * heads, heads, heads);
      break;
    case RouteScope::kLayer:
      layers = cellsArea(row, 0, 1, layer + 1);
      weights = cellsArea(0, 0, heads, columns);
      break;
    case RouteScope::kSource:
      layers = cellsArea(last, source, first - last + 1, 1);
      weights = cellsArea(0, source * heads, heads, heads);
      break;
    case RouteScope::kSourceHead:
      layers = cellsArea(last, source, first - last + 1, 1);
      weights = cellsArea(0, column, heads, 1);
      break;
  }
  layers_->plot().setMarks({{0, layers, true}});
  weights_->plot().setMarks({{0, weights, true}});
}

}  // namespace lime::explorer
