// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/router_view.h"

#include <QKeyEvent>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "checkpoint/checkpoint.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/router_controls.h"
#include "explorer/views/theme.h"

namespace lime::explorer {
namespace {

enum DetailKind { kWeights, kFlow };

const QString kSourceQuantity = QStringLiteral("source layer");
const QString kLayerQuantity = QStringLiteral("layer");

QRectF cellArea(int row, int col) { return {col - 0.5, row - 0.5, 1.0, 1.0}; }

}  // namespace

RouterView::RouterView(const ViewContext& context, QWidget* parent)
    : View(QStringLiteral("Router"), context, parent),
      library_(context.workspace, context.jobs),
      controls_(new RouterControls),
      layers_(new FigurePane(QStringLiteral("mean map of layers"))),
      heads_(new FigurePane(QStringLiteral("map of the heads of a layer"))),
      detail_(new FigurePane(QStringLiteral("weights of heads, or flow into a head"))),
      detail_kind_(new QTabBar),
      active_(layers_) {
  layOut();
  connectAll();
  listCheckpoints();
  activate(layers_);
}

void RouterView::layOut() {
  detail_kind_->addTab(QStringLiteral("Weights between two layers"));
  detail_kind_->addTab(QStringLiteral("Flow into a head"));
  detail_kind_->setDrawBase(false);
  detail_kind_->setAccessibleName(QStringLiteral("weights or flow"));
  for (FigurePane* const pane : {layers_, heads_, detail_}) pane->plot().setKeepsAspect(true);
  auto* const below = new QWidget;
  auto* const column = new QVBoxLayout(below);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(detail_kind_);
  column->addWidget(detail_, 1);
  auto* const right = new QSplitter(Qt::Vertical);
  right->addWidget(heads_);
  right->addWidget(below);
  right->setSizes({280, 340});
  auto* const body = new QSplitter(Qt::Horizontal);
  body->addWidget(layers_);
  body->addWidget(right);
  body->setSizes({500, 540});
  for (QSplitter* const splitter : {right, body}) {
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(1);
  }
  auto* const page = new QVBoxLayout(this);
  page->setContentsMargins(0, 0, 0, 0);
  page->setSpacing(0);
  page->addWidget(controls_);
  page->addWidget(body, 1);
  setFocusProxy(&layers_->plot());
}

void RouterView::connectAll() {
  for (FigurePane* const pane : {layers_, heads_, detail_}) {
    connect(pane, &FigurePane::activated, this, [this, pane] { activate(pane); });
    connect(&pane->plot(), &FigureView::hovered, this,
            [this, pane](const FigureHit& hit) { describe(pane, hit); });
    connect(&pane->plot(), &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
    connect(&pane->plot(), &FigureView::clicked, this,
            [this, pane](const FigureHit& hit) { chooseCell(pane, hit); });
  }
  connect(controls_, &RouterControls::checkpointChosen, this, [this] {
    workspace().setCurrent(controls_->checkpoint());
    controls_->setSeries(library_.seriesOf(controls_->checkpoint()));
    draw();
  });
  connect(controls_, &RouterControls::otherChosen, this, [this] { draw(); });
  connect(controls_, &RouterControls::lookChosen, this, [this](const QString& what) {
    recordChange(what);
    draw();
  });
  connect(detail_kind_, &QTabBar::currentChanged, this, [this] {
    recordChange(QStringLiteral("Weights or flow"));
    draw();
  });
  connect(&library_, &RouterLibrary::changed, this, [this] { listCheckpoints(); });
  connect(&workspace(), &Workspace::documentAdded, this, [this] { listCheckpoints(); });
  connect(&workspace(), &Workspace::documentRemoved, this, [this] { listCheckpoints(); });
  connect(&workspace(), &Workspace::currentChanged, this, [this](int id) {
    const Document* const document = workspace().find(id);
    if (document == nullptr || !document->checkpoint || controls_->checkpoint() == id) return;
    controls_->setCheckpoint(id);
    controls_->setSeries(library_.seriesOf(id));
    draw();
  });
  connect(&workspace(), &Workspace::selectionChanged, this, [this] {
    if (!is_setting_) draw();
  });
}

void RouterView::listCheckpoints() {
  controls_->setCheckpoints(workspace());
  controls_->setSeries(library_.seriesOf(controls_->checkpoint()));
  draw();
}

RouterLook RouterView::look() const {
  RouterLook look = controls_->look();
  look.layer_base = preferences().layer_base;
  return look;
}

std::optional<RouterSubject> RouterView::subject() const {
  const RouterLibrary::Entry* const entry = library_.find(controls_->checkpoint());
  if (entry == nullptr || !entry->routers) return std::nullopt;
  RouterSubject subject{entry->routers.get(), nullptr};
  const RouterLibrary::Entry* const other = library_.find(controls_->other());
  if (other == nullptr || !other->routers) return subject;
  if (!other->routers->has_shape_of(*entry->routers)) return subject;
  subject.minus = other->routers.get();
  return subject;
}

QString RouterView::emptyMessage() const {
  const RouterLibrary::Entry* const entry = library_.find(controls_->checkpoint());
  if (entry == nullptr) {
    return QStringLiteral(
        "No checkpoint is open.\n\nOpen a checkpoint folder (Ctrl+Shift+O) to see "
        "which layers its routers read.");
  }
  return entry->problem.isEmpty() ? QStringLiteral("Reading the routers...") : entry->problem;
}

Selection RouterView::chosen() const {
  const std::optional<RouterSubject> shown = subject();
  return shown ? completed(workspace().selection(), *shown->routers) : Selection{};
}

void RouterView::drawNothing() {
  for (FigurePane* const pane : {layers_, heads_, detail_}) {
    pane->plot().setMessage(pane == layers_ ? emptyMessage() : QString());
    pane->plot().setFigure(std::nullopt);
    pane->setCaption({});
  }
}

std::optional<double> RouterView::largestOfSeries() const {
  // A film needs one scale for all its pictures.
  const std::vector<int> series = library_.seriesOf(controls_->checkpoint());
  if (series.size() < 2 || controls_->other() != 0) return std::nullopt;
  double largest = 0.0;
  for (const int id : series) {
    const MatrixD& values = library_.find(id)->routers->layer_values(look().quantity());
    for (const double value : values.reshaped()) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  }
  return largest;
}

void RouterView::draw() {
  const FigureStyle style = screenStyle(*this, preferences());
  for (FigurePane* const pane : {layers_, heads_, detail_}) pane->plot().setFigureStyle(style);
  if (const std::optional<RouterSubject> shown = subject()) {
    drawMaps(*shown, look());
    drawDetail(*shown, look());
    mark();
  } else {
    drawNothing();
  }
  rememberState();
  Q_EMIT figureChanged();
}

void RouterView::drawMaps(const RouterSubject& subject, const RouterLook& look) {
  const Selection selection = chosen();
  const int layers = static_cast<int>(subject.routers->num_layers());
  layer_map_ = layerMap(subject, look, largestOfSeries());
  head_map_ = headMap(subject, *selection.layer, look);
  layers_->plot().setFigure(layer_map_.figure);
  heads_->plot().setFigure(head_map_.figure);
  layers_->setCaption(
      subject.minus == nullptr
          ? QStringLiteral("What each layer reads, mean over heads")
          : QStringLiteral("What each layer reads more than the other checkpoint's"));
  heads_->setCaption(
      QStringLiteral("What the heads of layer %1 read").arg(*selection.layer + look.layer_base));
  std::vector<AxisLink> links;
  links.push_back({.axis = Qt::Vertical,
                   .quantity = kLayerQuantity,
                   .origin = static_cast<double>(layers - 1),
                   .is_reversed = true});
  if (!look.is_sorted) links.push_back({.quantity = kSourceQuantity});
  layers_->plot().linkAxes(workspace(), links);
  heads_->plot().linkAxes(workspace(), look.is_sorted
                                           ? std::vector<AxisLink>()
                                           : std::vector<AxisLink>{{.quantity = kSourceQuantity}});
}

void RouterView::drawDetail(const RouterSubject& subject, const RouterLook& look) {
  const Selection selection = chosen();
  const int layer = *selection.layer + look.layer_base;
  const bool is_flow = detail_kind_->currentIndex() == kFlow;
  detail_->plot().setKeepsAspect(!is_flow);
  if (is_flow) {
    flow_ = flowPicture(*subject.routers, *selection.layer, *selection.head, look);
    detail_->plot().setFigure(flow_.figure);
    detail_->setCaption(
        QStringLiteral("What feeds head %1 of layer %2, directly and through earlier "
                       "layers")
            .arg(*selection.head)
            .arg(layer));
  } else {
    block_map_ = blockMap(subject, *selection.layer, *selection.source_layer, look);
    detail_->plot().setFigure(block_map_.figure);
    detail_->setCaption(QStringLiteral("Signed weights of layer %1 on layer %2")
                            .arg(layer)
                            .arg(*selection.source_layer + look.layer_base));
  }
}

void RouterView::mark() {
  const Selection selection = chosen();
  const auto cell = [](const RouterMap& map, int row, int col, bool strong) {
    const int r = map.rowOf(row);
    const int c = map.colOf(col);
    std::vector<FigureMark> marks;
    if (r >= 0 && c >= 0) marks.push_back({0, cellArea(r, c), strong});
    return marks;
  };
  layers_->plot().setMarks(cell(layer_map_, *selection.layer, *selection.source_layer, true));
  heads_->plot().setMarks(cell(head_map_, *selection.head, *selection.source_layer, true));
  if (detail_kind_->currentIndex() == kFlow) return;
  if (selection.source_head) {
    detail_->plot().setMarks(cell(block_map_, *selection.head, *selection.source_head, true));
  } else if (const int row = block_map_.rowOf(*selection.head); row >= 0) {
    const double cols = static_cast<double>(block_map_.cols.size());
    detail_->plot().setMarks({{0, QRectF(-0.5, row - 0.5, cols, 1.0), false}});
  }
}

void RouterView::activate(FigurePane* pane) {
  active_ = pane;
  for (FigurePane* const each : {layers_, heads_, detail_}) each->setActive(each == pane);
  Q_EMIT figureChanged();
}

void RouterView::select(const Selection& selection, const QString& text) {
  changeState(text, [&] { workspace().setSelection(selection); });
}

void RouterView::chooseCell(FigurePane* pane, const FigureHit& hit) {
  if (!subject()) return;
  Selection selection = chosen();
  selection.rows = workspace().selection().rows;
  const auto at = [](const std::vector<int>& numbers, double place) -> std::optional<int> {
    const auto index = static_cast<long>(place + 0.5);
    if (place < -0.5 || index >= static_cast<long>(numbers.size())) return std::nullopt;
    return numbers[static_cast<std::size_t>(index)];
  };
  if (pane == detail_ && detail_kind_->currentIndex() == kFlow) {
    if (!hit.point || hit.panel != 0) return;
    const auto& curves = std::get<CurvePanel>(flow_.figure.panels[0].content).curves;
    if (hit.point->series + 1 != curves.size()) return;
    const auto [layer, head] = flow_.nodes[hit.point->index];
    selection = {.layer = layer, .head = head, .rows = selection.rows};
    select(selection, QStringLiteral("Choose layer and head"));
    return;
  }
  const RouterMap& map = pane == layers_ ? layer_map_ : pane == heads_ ? head_map_ : block_map_;
  const std::optional<int> row = at(map.rows, hit.y);
  const std::optional<int> col = at(map.cols, hit.x);
  if (!row || !col) return;
  if (pane == layers_) {
    if (*col > *row) return;
    selection.layer = *row;
    selection.source_layer = *col;
    selection.source_head.reset();
    select(selection, QStringLiteral("Choose a layer"));
  } else if (pane == heads_) {
    selection.head = *row;
    selection.source_layer = *col;
    selection.source_head.reset();
    select(selection, QStringLiteral("Choose a head"));
  } else {
    selection.head = *row;
    selection.source_head = *col;
    select(selection, QStringLiteral("Choose a weight"));
  }
}

void RouterView::describe(FigurePane* pane, const FigureHit& hit) {
  const std::optional<RouterSubject> shown = subject();
  if (!shown) return;
  const Selection selection = chosen();
  if (pane == detail_ && detail_kind_->currentIndex() == kFlow) {
    const RouterExploration& routers = *shown->routers;
    QString text;
    if (hit.panel == 1 && hit.cell) {
      const int head = static_cast<int>(routers.num_heads()) - 1 - hit.cell->row;
      const auto& map = std::get<MapPanel>(flow_.figure.panels[1].content);
      text = QStringLiteral("through earlier layers, %1 passes head %2 of layer %3")
                 .arg(map.values(hit.cell->row, hit.cell->col), 0, 'f', 4)
                 .arg(head)
                 .arg(hit.cell->col + look().layer_base);
    } else if (hit.panel == 0 && hit.point) {
      const auto& curves = std::get<CurvePanel>(flow_.figure.panels[0].content).curves;
      if (hit.point->series + 1 == curves.size()) {
        const auto [layer, head] = flow_.nodes[hit.point->index];
        text = describeWeight({&routers, nullptr}, look(), *selection.layer, *selection.head, layer,
                              head);
      }
    }
    Q_EMIT status(text);
    return;
  }
  const RouterMap& map = pane == layers_ ? layer_map_ : pane == heads_ ? head_map_ : block_map_;
  const auto row = static_cast<std::size_t>(hit.y + 0.5);
  const auto col = static_cast<std::size_t>(hit.x + 0.5);
  if (hit.y < -0.5 || hit.x < -0.5 || row >= map.rows.size() || col >= map.cols.size()) return;
  const int target = map.rows[row];
  const int source = map.cols[col];
  if (pane == layers_) {
    Q_EMIT status(source > target ? QString() : describeLayerCell(*shown, look(), target, source));
  } else if (pane == heads_) {
    Q_EMIT status(describeHeadCell(*shown, look(), *selection.layer, target, source));
  } else {
    Q_EMIT status(
        describeWeight(*shown, look(), *selection.layer, target, *selection.source_layer, source));
  }
}

void RouterView::walk(int layers, int heads, int sources) {
  const std::optional<RouterSubject> shown = subject();
  if (!shown) return;
  Selection selection = chosen();
  const int last_layer = static_cast<int>(shown->routers->num_layers()) - 1;
  const int last_head = static_cast<int>(shown->routers->num_heads()) - 1;
  selection.layer = std::clamp(*selection.layer + layers, 0, last_layer);
  selection.head = std::clamp(*selection.head + heads, 0, last_head);
  selection.source_layer = std::clamp(*selection.source_layer + sources, 0, *selection.layer);
  selection.rows = workspace().selection().rows;
  select(selection, QStringLiteral("Walk"));
  Q_EMIT status(
      describeHeadCell(*shown, look(), *selection.layer, *selection.head, *selection.source_layer));
}

void RouterView::keyPressEvent(QKeyEvent* event) {
  const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
  switch (event->key()) {
    // The map has its first layer at the top.
    case Qt::Key_Up:
      walk(-1, 0, 0);
      return;
    case Qt::Key_Down:
      walk(1, 0, 0);
      return;
    case Qt::Key_Left:
      walk(0, shift ? 0 : -1, shift ? -1 : 0);
      return;
    case Qt::Key_Right:
      walk(0, shift ? 0 : 1, shift ? 1 : 0);
      return;
    case Qt::Key_Space:
      controls_->setPlaying(!controls_->isPlaying());
      return;
    case Qt::Key_PageUp:
      controls_->stepFilm(-1);
      return;
    case Qt::Key_PageDown:
      controls_->stepFilm(1);
      return;
    default:
      View::keyPressEvent(event);
  }
}

void RouterView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) draw();
  View::changeEvent(event);
}

std::vector<Habit> RouterView::habits() const {
  return {
      {QStringLiteral("Layer before, layer after"), QStringLiteral("Up, Down")},
      {QStringLiteral("Head before, head after"), QStringLiteral("Left, Right")},
      {QStringLiteral("Buffered layer before, after"), QStringLiteral("Shift+Left, Shift+Right")},
      {QStringLiteral("Checkpoint of the series before, after"),
       QStringLiteral("Page Up, Page Down")},
      {QStringLiteral("Play the series"), QStringLiteral("Space")}};
}

std::optional<Figure> RouterView::figure() const {
  const Figure* const shown = active_->plot().figure();
  if (shown == nullptr) return std::nullopt;
  return *shown;
}

QStringList RouterView::commandLines() const {
  const Document* const document = workspace().find(controls_->checkpoint());
  const std::optional<RouterSubject> shown = subject();
  if (document == nullptr || !shown) return {};
  const Selection selection = chosen();
  QString kind = QStringLiteral("router-mean");
  QString layer;
  if (active_ != layers_) {
    kind = active_ == heads_ && !look().is_signed ? QStringLiteral("router-heads")
                                                  : QStringLiteral("router-signed");
    layer = QStringLiteral(" --layer %1").arg(*selection.layer);
  }
  if (look().layer_base != 0) layer += QStringLiteral(" --layer-base 1");
  return {QStringLiteral("lime-metrics router %1 --detail weights -o router.json")
              .arg(quotedForShell(toQString(document->path))),
          QStringLiteral("lime-figure router.json --kind %1%2 -o %1.pdf").arg(kind, layer)};
}

Json RouterView::state() const {
  const Selection& selection = workspace().selection();
  const RouterLook shown = controls_->look();
  Json state = {{"signed", shown.is_signed},
                {"normalised", shown.is_normalised},
                {"sorted", shown.is_sorted},
                {"threshold", shown.threshold},
                {"detail", detail_kind_->currentIndex()}};
  if (selection.layer) state["layer"] = *selection.layer;
  if (selection.head) state["head"] = *selection.head;
  if (selection.source_layer) state["source_layer"] = *selection.source_layer;
  if (selection.source_head) state["source_head"] = *selection.source_head;
  return state;
}

void RouterView::setState(const Json& state) {
  is_setting_ = true;
  RouterLook shown = controls_->look();
  shown.is_signed = state.value("signed", shown.is_signed);
  shown.is_normalised = state.value("normalised", shown.is_normalised);
  shown.is_sorted = state.value("sorted", shown.is_sorted);
  shown.threshold = state.value("threshold", shown.threshold);
  controls_->setLook(shown);
  {
    const QSignalBlocker quiet(detail_kind_);
    detail_kind_->setCurrentIndex(std::clamp(state.value("detail", 0), 0, 1));
  }
  const auto number = [&](const char* name) -> std::optional<int> {
    if (!state.contains(name)) return std::nullopt;
    return state.at(name).get<int>();
  };
  Selection selection{number("layer"), number("head"), number("source_layer"),
                      number("source_head"), workspace().selection().rows};
  workspace().setSelection(selection);
  is_setting_ = false;
  draw();
}

void RouterView::zoom(double factor) { active_->plot().zoom(factor); }
void RouterView::showAll() { active_->plot().showAll(); }

ViewKind routerViewKind() {
  return {
      .id = QStringLiteral("router"),
      .title = QStringLiteral("Router"),
      .question = QStringLiteral("Which layers and heads do the routers read, and how strongly?"),
      .shows = [](const Document& document) { return document.checkpoint != nullptr; },
      .make = [](const ViewContext& context, QWidget* parent) -> View* {
        return new RouterView(context, parent);
      }};
}

}  // namespace lime::explorer
