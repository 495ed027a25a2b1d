// SPDX-License-Identifier: Apache-2.0
// Mouse and keys of the maps of route surgery.
#include <QComboBox>
#include <QKeyEvent>
#include <QTableView>
#include <algorithm>
#include <cmath>

#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/surgery_routes.h"

namespace lime::explorer {

void SurgeryRoutes::select(const Selection& selection, std::initializer_list<RouteScope> fitting) {
  // A click on a map chooses what its cells are, unless what is chosen already fits the map.
  if (std::find(fitting.begin(), fitting.end(), scope()) == fitting.end()) {
    scope_->setCurrentIndex(scope_->findData(static_cast<int>(*fitting.begin())));
  }
  // Whoever hears of another selection has it drawn; of the same one nobody would hear.
  if (selection == selection_) {
    mark();
    showScale();
    return;
  }
  Q_EMIT selectionWanted(selection);
}

void SurgeryRoutes::clickLayers(const FigureHit& hit) {
  if (routers_ == nullptr) return;
  const std::optional<int> layer = layer_map_.rowNumberAt(hit.y);
  const std::optional<int> source = layer_map_.colNumberAt(hit.x);
  if (!layer || !source || *source > *layer) return;
  Selection selection = selection_;
  selection.layer = *layer;
  selection.source_layer = *source;
  select(selection, {RouteScope::kLayerSource, RouteScope::kLayer, RouteScope::kSource});
}

void SurgeryRoutes::clickWeights(const FigureHit& hit) {
  if (routers_ == nullptr) return;
  const std::optional<int> head = weight_map_.rowNumberAt(hit.y);
  const std::optional<int> column = weight_map_.colNumberAt(hit.x);
  if (!head || !column) return;
  const int heads = static_cast<int>(weight_map_.rows.size());
  Selection selection = selection_;
  selection.head = *head;
  selection.source_layer = *column / heads;
  selection.source_head = *column % heads;
  select(selection, {RouteScope::kWeight, RouteScope::kHeadSource, RouteScope::kHead,
                     RouteScope::kSourceHead});
}

void SurgeryRoutes::describe(const FigurePane* pane, const FigureHit& hit) {
  if (routers_ == nullptr) return;
  const bool is_layers = pane == layers_;
  const RouterMap& map = is_layers ? layer_map_ : weight_map_;
  const std::optional<int> row = map.rowNumberAt(hit.y);
  const std::optional<int> column = map.colNumberAt(hit.x);
  const int base = preferences_.layer_base;
  QString text;
  if (row && column && is_layers && *column <= *row) {
    text = describeEditedLayer(*routers_, base, *row, *column);
  } else if (row && column && !is_layers) {
    const int heads = static_cast<int>(weight_map_.rows.size());
    text = describeEditedWeight(*routers_, base, *selection_.layer, *row, *column / heads,
                                *column % heads);
  }
  Q_EMIT status(text);
}

void SurgeryRoutes::walk(int rows, int cols) {
  Selection selection = selection_;
  const int heads = static_cast<int>(weight_map_.rows.size());
  const int base = preferences_.layer_base;
  if (weights_->plot().hasFocus()) {
    selection.head = std::clamp(*selection.head + rows, 0, heads - 1);
    const int columns = static_cast<int>(weight_map_.cols.size());
    const int column =
        std::clamp(*selection.source_layer * heads + *selection.source_head + cols, 0, columns - 1);
    selection.source_layer = column / heads;
    selection.source_head = column % heads;
    select(selection, {RouteScope::kWeight, RouteScope::kHeadSource, RouteScope::kHead,
                       RouteScope::kSourceHead});
    Q_EMIT status(describeEditedWeight(*routers_, base, *selection.layer, *selection.head,
                                       *selection.source_layer, *selection.source_head));
    return;
  }
  const int last = static_cast<int>(routers_->trained().num_layers()) - 1;
  selection.layer = std::clamp(*selection.layer + rows, 1, last);
  selection.source_layer = std::clamp(*selection.source_layer + cols, 0, *selection.layer);
  select(selection, {RouteScope::kLayerSource, RouteScope::kLayer, RouteScope::kSource});
  Q_EMIT status(describeEditedLayer(*routers_, base, *selection.layer, *selection.source_layer));
}

bool SurgeryRoutes::hasKey(QKeyEvent& event) {
  constexpr double kStep = 0.25;
  switch (event.key()) {
    case Qt::Key_Up:
      walk(-1, 0);
      return true;
    case Qt::Key_Down:
      walk(1, 0);
      return true;
    case Qt::Key_Left:
      walk(0, -1);
      return true;
    case Qt::Key_Right:
      walk(0, 1);
      return true;
    case Qt::Key_0:
    case Qt::Key_Delete:
      want(0.0);
      return true;
    case Qt::Key_1:
    case Qt::Key_Backspace:
      want(1.0);
      return true;
    case Qt::Key_2:
      want(2.0);
      return true;
    case Qt::Key_BracketLeft:
      want(chosen().scale - kStep);
      return true;
    case Qt::Key_BracketRight:
      want(chosen().scale + kStep);
      return true;
    case Qt::Key_Space: {
      const int step = event.modifiers().testFlag(Qt::ShiftModifier) ? scope_->count() - 1 : 1;
      scope_->setCurrentIndex((scope_->currentIndex() + step) % scope_->count());
      Q_EMIT scope_->activated(scope_->currentIndex());
      Q_EMIT status(scope_->currentText());
      return true;
    }
    default:
      return false;
  }
}

void SurgeryRoutes::keyPressEvent(QKeyEvent* event) {
  const bool on_map = layers_->plot().hasFocus() || weights_->plot().hasFocus();
  const bool is_plain = !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  if (routers_ != nullptr && on_map && is_plain && hasKey(*event)) return;
  QWidget::keyPressEvent(event);
}

void SurgeryRoutes::removeChosenEdits() {
  std::vector<RouterEdit> gone;
  for (const QModelIndex& index : list_->selectionModel()->selectedRows()) {
    gone.push_back(edits_.edits()[static_cast<std::size_t>(index.row())]);
  }
  for (RouterEdit& edit : gone) {
    edit.scale = 1.0;
    Q_EMIT scaleWanted(edit);
  }
}

bool SurgeryRoutes::eventFilter(QObject* watched, QEvent* event) {
  if (watched == list_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Delete || key == Qt::Key_Backspace) {
      removeChosenEdits();
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lime::explorer
