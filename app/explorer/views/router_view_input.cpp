// SPDX-License-Identifier: Apache-2.0
// Mouse and keys of the router view.
#include <QKeyEvent>
#include <algorithm>

#include "explorer/models/workspace.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/router_controls.h"
#include "explorer/views/router_view.h"

namespace lime::explorer {

void RouterView::select(const Selection& selection, const QString& text) {
  changeSelection(text, selection);
}

const RouterMap& RouterView::mapOf(const FigurePane* pane) const {
  if (pane == layers_) return layer_map_;
  return pane == heads_ ? head_map_ : block_map_;
}

void RouterView::chooseNode(const FigureHit& hit) {
  if (!hit.point || hit.panel != 0) return;
  const auto& curves = std::get<CurvePanel>(flow_.figure.panels[0].content).curves;
  // The last curve is that of the dots.
  if (hit.point->series + 1 != curves.size()) return;
  const auto [layer, head] = flow_.nodes[hit.point->index];
  select({.layer = layer, .head = head, .tokens = workspace().selection().tokens},
         QStringLiteral("Choose layer and head"));
}

void RouterView::chooseCell(FigurePane* pane, const FigureHit& hit) {
  if (!subject()) return;
  if (pane == detail_ && showsFlow()) {
    chooseNode(hit);
    return;
  }
  const std::optional<int> row = mapOf(pane).rowNumberAt(hit.y);
  const std::optional<int> col = mapOf(pane).colNumberAt(hit.x);
  if (!row || !col || (pane == layers_ && *col > *row)) return;
  Selection selection = chosen();
  if (pane == detail_) {
    selection.head = *row;
    selection.source_head = *col;
    select(selection, QStringLiteral("Choose a weight"));
    return;
  }
  (pane == layers_ ? selection.layer : selection.head) = *row;
  selection.source_layer = *col;
  selection.source_head.reset();
  select(selection,
         pane == layers_ ? QStringLiteral("Choose a layer") : QStringLiteral("Choose a head"));
}

void RouterView::describeFlow(const RouterSubject& subject, const FigureHit& hit) {
  const RouterExploration& routers = *subject.routers;
  const Selection selection = chosen();
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
}

void RouterView::describe(FigurePane* pane, const FigureHit& hit) {
  const std::optional<RouterSubject> shown = subject();
  if (!shown) return;
  if (pane == detail_ && showsFlow()) {
    describeFlow(*shown, hit);
    return;
  }
  const std::optional<int> row = mapOf(pane).rowNumberAt(hit.y);
  const std::optional<int> col = mapOf(pane).colNumberAt(hit.x);
  const Selection selection = chosen();
  QString text;
  if (!row || !col || (pane == layers_ && *col > *row)) {
    // Beside the cells, or a layer above, which nobody reads.
  } else if (pane == layers_) {
    text = describeLayerCell(*shown, look(), *row, *col);
  } else if (pane == heads_) {
    text = describeHeadCell(*shown, look(), *selection.layer, *row, *col);
  } else {
    text = describeWeight(*shown, look(), *selection.layer, *row, *selection.source_layer, *col);
  }
  Q_EMIT status(text);
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

}  // namespace lime::explorer
