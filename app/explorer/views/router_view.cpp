// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/router_view.h"

#include <QEvent>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/router_controls.h"
#include "explorer/views/theme.h"

namespace lime::explorer {
namespace {

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
  detail_kind_->setExpanding(false);
  detail_kind_->setAccessibleName(QStringLiteral("weights or flow"));
  for (FigurePane* const pane : {layers_, heads_, detail_}) pane->plot().setKeepsAspect(true);
  auto* const below = new QWidget;
  auto* const column = new QVBoxLayout(below);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(detail_kind_);
  column->addWidget(detail_, 1);
  QSplitter* const right = makeSplitter(Qt::Vertical, {heads_, below}, {280, 340});
  QVBoxLayout* const page = fillWithColumn(*this);
  page->addWidget(controls_);
  page->addWidget(makeSplitter(Qt::Horizontal, {layers_, right}, {500, 540}), 1);
  setFirstFocus(&layers_->plot());
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
    // The frames of a film follow each other so soon that they are one step.
    recordChange(controls_->isPlaying() ? QStringLiteral("Play the film")
                                        : QStringLiteral("Choose a checkpoint"));
    showCheckpoint(controls_->checkpoint());
    draw();
  });
  connect(controls_, &RouterControls::otherChosen, this, [this] {
    recordChange(QStringLiteral("Choose what to compare with"));
    draw();
  });
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

void RouterView::showCheckpoint(int id) {
  workspace().setCurrent(id);
  controls_->setCheckpoint(id);
  controls_->setSeries(library_.seriesOf(id));
}

bool RouterView::showsFlow() const { return detail_kind_->currentIndex() == 1; }

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
    // The first layer, which reads itself alone, is not shown.
    for (Eigen::Index l = values.rows() > 1 ? 1 : 0; l < values.rows(); ++l) {
      largest = std::max(largest, values.row(l).head(l + 1).cwiseAbs().maxCoeff());
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
  QString caption = QStringLiteral("What each layer reads, mean over heads");
  if (subject.minus != nullptr) {
    caption = QStringLiteral("What each layer reads more than in the other checkpoint");
  } else if (!subject.routers->is_routed()) {
    caption = QStringLiteral("A plain transformer: every layer reads itself");
  }
  layers_->setCaption(caption);
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
  const bool is_flow = showsFlow();
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
  if (showsFlow()) return;
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
  const auto path = [this](int id) {
    const Document* const document = workspace().find(id);
    return document == nullptr ? std::string() : document->path.string();
  };
  Json state = {{"checkpoint", path(controls_->checkpoint())},
                {"minus", path(controls_->other())},
                {"signed", shown.is_signed},
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

void RouterView::setCheckpoints(const Json& state) {
  const std::string checkpoint = state.value("checkpoint", std::string());
  const std::string minus = state.value("minus", std::string());
  int other = 0;
  for (const Document* const document : workspace().documentsOf(DocumentKind::kCheckpoint)) {
    if (document->path.string() == checkpoint) showCheckpoint(document->id);
    if (document->path.string() == minus) other = document->id;
  }
  if (state.contains("minus")) controls_->setOther(other);
}

void RouterView::setState(const Json& state) {
  is_setting_ = true;
  setCheckpoints(state);
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
                      number("source_head"), workspace().selection().tokens};
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
