// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_panes.h"

#include "checkpoint/checkpoint.h"
#include "explorer/models/figures.h"
#include "explorer/router/router_figures.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

// A map is readable at this size, with its labels and caption. Smaller windows scroll.
constexpr int kLeastMapWidth = 240;
constexpr int kLeastMapHeight = 170;
constexpr int kLeastCurveHeight = 140;

std::vector<FigureMark> cellMark(const RouterMap& map, int row, int col) {
  const int r = map.rowOf(row);
  const int c = map.colOf(col);
  if (r < 0 || c < 0) return {};
  return {{0, QRectF(c - 0.5, r - 0.5, 1.0, 1.0), true}};
}

}  // namespace

RouterPanes::RouterPanes(Workspace& workspace)
    : workspace_(workspace),
      layers_(new FigurePane(u"mean map of layers"_s)),
      embeddings_(new FigurePane(u"fraction of each layer's weight on the embeddings"_s)),
      heads_(new FigurePane(u"map of the heads of a layer"_s)),
      detail_(new FigurePane(u"weights of heads, or flow into a head"_s)),
      detail_kind_(makeTabs({u"Weights"_s, u"Flow into a head"_s, u"All heads"_s},
                            u"weights, flow, or heads of all layers"_s)) {
  // The maps select what the large picture shows.
  auto* const large = new QWidget;
  QVBoxLayout* const column = fillWithColumn(*large);
  column->addWidget(detail_kind_);
  column->addWidget(detail_, 1);
  setDetailKind(RouterDetail::kFlow);
  QSplitter* const left =
      makeSplitter(Qt::Vertical, {layers_, heads_, embeddings_}, {300, 190, 150});
  left->setMinimumWidth(kLeastMapWidth);
  for (FigurePane* const pane : {layers_, heads_}) pane->setMinimumHeight(kLeastMapHeight);
  embeddings_->setMinimumHeight(kLeastCurveHeight);
  fillWithColumn(*this)->addWidget(makeSplitter(Qt::Horizontal, {left, large}, {360, 680}));
  for (FigurePane* const pane : {layers_, embeddings_, heads_, detail_}) {
    pane->plot().setKeepsAspect(pane != embeddings_);
    pane->plot().setDescriber([this, pane](const FigureHit& hit) { return describe(pane, hit); });
    connect(&pane->plot(), &FigureView::clicked, this,
            [this, pane](const FigureHit& hit) { click(pane, hit); });
  }
  connect(detail_kind_, &QTabBar::currentChanged, this, &RouterPanes::detailKindChanged);
}

RouterDetail RouterPanes::detailKind() const {
  return static_cast<RouterDetail>(detail_kind_->currentIndex());
}

void RouterPanes::setDetailKind(RouterDetail kind) {
  const QSignalBlocker quiet(detail_kind_);
  detail_kind_->setCurrentIndex(static_cast<int>(kind));
}

void RouterPanes::drawNothing(const QString& message) {
  subject_.reset();
  for (FigurePane* const pane : {layers_, embeddings_, heads_, detail_}) {
    pane->show(std::nullopt, pane == layers_ ? message : QString());
  }
}

void RouterPanes::draw(const RouterSubject& subject, const RouterDisplay& display,
                       const Selection& selection, std::optional<double> largest) {
  subject_ = subject;
  display_ = display;
  selection_ = selection;
  drawLayers(largest);
  drawHeads();
  drawDetail();
  mark();
}

void RouterPanes::select(const Selection& selection) {
  if (!subject_) return;
  const Selection before = std::exchange(selection_, selection);
  if (before.layer != selection.layer) drawHeads();
  if (!hasSameDetail(before, selection)) drawDetail();
  mark();
}

bool RouterPanes::hasSameDetail(const Selection& a, const Selection& b) const {
  switch (detailKind()) {
    case RouterDetail::kWeights: return a.layer == b.layer && a.source_layer == b.source_layer;
    case RouterDetail::kFlow: return a.layer == b.layer && a.head == b.head;
    case RouterDetail::kAllHeads: break;
  }
  return true;
}

void RouterPanes::drawLayers(std::optional<double> largest) {
  const int layers = static_cast<int>(subject_->routers->num_layers());
  layer_map_ = layerMap(*subject_, display_, largest);
  layers_->show(layer_map_.figure, {},
                subject_->minus != nullptr
                    ? u"Difference of router weights from the other checkpoint, per layer"_s
                    : u"Router weights per layer, averaged over heads"_s);
  Figure reads = embeddingsFigure(*subject_, display_);
  colourModels(reads.panels, workspace_);
  embeddings_->show(std::move(reads), {}, u"Fraction of each layer's weight on the embeddings"_s);
  std::vector<AxisLink> links = sourceLinks();
  links.push_back({.axis = Qt::Vertical,
                   .quantity = u"layer"_s,
                   .origin = static_cast<double>(layers - 1),
                   .is_reversed = true});
  layers_->plot().linkAxes(workspace_, links);
}

void RouterPanes::drawHeads() {
  head_map_ = headMap(*subject_, *selection_.layer, display_);
  heads_->show(
      head_map_.figure, {},
      u"Router weights of the heads of layer %1"_s.arg(*selection_.layer + display_.layer_base));
  heads_->plot().linkAxes(workspace_, sourceLinks());
}

std::vector<AxisLink> RouterPanes::sourceLinks() const {
  if (display_.is_sorted) return {};
  return {{.quantity = u"source layer"_s}};
}

void RouterPanes::drawDetail() {
  const int layer = *selection_.layer + display_.layer_base;
  detail_->plot().setKeepsAspect(detailKind() == RouterDetail::kWeights);
  if (detailKind() == RouterDetail::kAllHeads) {
    all_heads_ = headOverview(*subject_, display_);
    detail_->show(
        all_heads_.figure, {},
        u"Router weights of the heads of every layer. Click a cell to select its layer and "
        u"head"_s);
    return;
  }
  if (showsFlow()) {
    flow_ = flowFigure(*subject_->routers, *selection_.layer, *selection_.head, display_);
    detail_->show(flow_.figure, {},
                  u"Flow into head %1 of layer %2, direct and through earlier layers"_s
                      .arg(*selection_.head + display_.layer_base)
                      .arg(layer));
    return;
  }
  block_map_ = blockMap(*subject_, *selection_.layer, *selection_.source_layer, display_);
  detail_->show(block_map_.figure, {},
                u"Signed weights of layer %1 on layer %2"_s.arg(layer).arg(
                    *selection_.source_layer + display_.layer_base));
}

void RouterPanes::mark() {
  layers_->plot().setMarks(cellMark(layer_map_, *selection_.layer, *selection_.source_layer));
  heads_->plot().setMarks(cellMark(head_map_, *selection_.head, *selection_.source_layer));
  if (const int panel = *selection_.layer - all_heads_.first_layer;
      detailKind() == RouterDetail::kAllHeads && panel >= 0) {
    const auto at = static_cast<std::size_t>(panel);
    std::vector<FigureMark> marks =
        cellMark(all_heads_.maps[at], *selection_.head, *selection_.source_layer);
    for (FigureMark& mark : marks) mark.panel = at;
    detail_->plot().setMarks(std::move(marks));
  }
  if (detailKind() != RouterDetail::kWeights) return;
  if (selection_.source_head) {
    detail_->plot().setMarks(cellMark(block_map_, *selection_.head, *selection_.source_head));
  } else if (const int row = block_map_.rowOf(*selection_.head); row >= 0) {
    const double cols = static_cast<double>(block_map_.cols.size());
    detail_->plot().setMarks({{0, QRectF(-0.5, row - 0.5, cols, 1.0), false}});
  }
}

std::optional<std::pair<int, int>> RouterPanes::cellAt(const FigurePane* pane,
                                                       const FigureHit& hit) const {
  const bool is_overview = pane == detail_ && detailKind() == RouterDetail::kAllHeads;
  if (is_overview && hit.panel >= all_heads_.maps.size()) return std::nullopt;
  const RouterMap& map = pane == layers_  ? layer_map_
                         : pane == heads_ ? head_map_
                         : is_overview    ? all_heads_.maps[hit.panel]
                                          : block_map_;
  const auto cell = map.cellAt(hit);
  // No layer reads the layers above it.
  const bool is_above = pane == layers_ && cell && cell->second > cell->first;
  return subject_ && !is_above ? cell : std::nullopt;
}

std::optional<std::pair<int, int>> RouterPanes::nodeAt(const FigureHit& hit) const {
  if (!hit.point || hit.panel != 0) return std::nullopt;
  const auto& curves = std::get<CurvePanel>(flow_.figure.panels[0].content).curves;
  // The last curve has the dots.
  if (hit.point->series + 1 != curves.size()) return std::nullopt;
  return flow_.nodes[hit.point->index];
}

void RouterPanes::click(const FigurePane* pane, const FigureHit& hit) {
  if (pane == detail_ && showsFlow() && subject_) {
    const auto node = nodeAt(hit);
    if (!node) return;
    Q_EMIT selectionRequested(
        {.layer = node->first, .head = node->second, .tokens = selection_.tokens},
        u"Select layer and head"_s);
    return;
  }
  const auto cell = cellAt(pane, hit);
  if (!cell || pane == embeddings_) return;
  Selection selection = selection_;
  if (pane == detail_ && detailKind() == RouterDetail::kWeights) {
    selection.head = cell->first;
    selection.source_head = cell->second;
    Q_EMIT selectionRequested(selection, u"Select a weight"_s);
    return;
  }
  if (pane == detail_) selection.layer = all_heads_.first_layer + static_cast<int>(hit.panel);
  (pane == layers_ ? selection.layer : selection.head) = cell->first;
  selection.source_layer = cell->second;
  selection.source_head.reset();
  Q_EMIT selectionRequested(selection, pane == layers_ ? u"Select a layer"_s : u"Select a head"_s);
}

QString RouterPanes::describeFlow(const FigureHit& hit) const {
  const CheckpointRouters& routers = *subject_->routers;
  if (hit.panel == 1 && hit.cell) {
    const auto& map = std::get<HeatmapPanel>(flow_.figure.panels[1].content);
    return u"indirect: %1 passes through head %2 of layer %3"_s
        .arg(map.values(hit.cell->row, hit.cell->col), 0, 'f', 4)
        .arg(static_cast<int>(routers.num_heads()) - 1 - hit.cell->row + display_.layer_base)
        .arg(hit.cell->col + display_.layer_base);
  }
  const auto node = nodeAt(hit);
  if (!node) return {};
  return describeWeight({&routers, nullptr}, display_, *selection_.layer, *selection_.head,
                        node->first, node->second);
}

QString RouterPanes::describeShare(const FigureHit& hit) const {
  if (!hit.point) return {};
  const int layer = static_cast<int>(hit.point->index) + (subject_->routers->num_layers() > 1);
  return describeSource(*subject_, display_, layer, {}, 0);
}

QString RouterPanes::describe(const FigurePane* pane, const FigureHit& hit) const {
  if (!subject_) return {};
  if (pane == detail_ && showsFlow()) return describeFlow(hit);
  if (pane == embeddings_) return describeShare(hit);
  const auto cell = cellAt(pane, hit);
  if (!cell) return {};
  const auto [row, col] = *cell;
  if (pane == layers_) return describeSource(*subject_, display_, row, {}, col);
  if (pane == heads_) return describeSource(*subject_, display_, *selection_.layer, row, col);
  if (detailKind() == RouterDetail::kAllHeads) {
    const int layer = all_heads_.first_layer + static_cast<int>(hit.panel);
    return describeSource(*subject_, display_, layer, row, col);
  }
  return describeWeight(*subject_, display_, *selection_.layer, row, *selection_.source_layer, col);
}

}  // namespace lime::explorer
