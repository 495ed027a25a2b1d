// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_routes.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/interventions/route_controls.h"
#include "explorer/interventions/route_maps.h"
#include "explorer/widgets/pane_layout.h"

namespace lime::explorer {

InterventionRoutes::InterventionRoutes(InterventionEdits& edits, QWidget* parent)
    : QWidget(parent), edits_(edits), maps_(new RouteMaps), controls_(new RouteControls) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(maps_, 1);
  column->addWidget(controls_);
  column->addWidget(makeList());
  connect(maps_, &RouteMaps::selectionRequested, this, &InterventionRoutes::select);
  connect(maps_, &RouteMaps::status, this, &InterventionRoutes::status);
  connect(controls_, &RouteControls::scopeSelected, this, [this] {
    showScope();
    Q_EMIT scopeSelected();
  });
  connect(controls_, &RouteControls::scaleRequested, this, &InterventionRoutes::requestScale);
  connect(&edits_, &InterventionEdits::modelReset, this, &InterventionRoutes::showScope);
  connect(&edits_, &InterventionEdits::scaleEntered, this, &InterventionRoutes::scaleRequested);
}

QWidget* InterventionRoutes::makeList() {
  list_ = makeTable(edits_, QStringLiteral("edits"));
  list_->setToolTip(QStringLiteral("Edits: Delete removes the selected ones, F2 changes a scale"));
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  QHeaderView* const header = list_->horizontalHeader();
  header->setStretchLastSection(false);
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  header->setResizeContentsPrecision(0);  // only visible rows: there may be many edits
  header->setSectionResizeMode(InterventionEdits::kRoutes, QHeaderView::Stretch);
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

void InterventionRoutes::setRouters(const EditedRouters* routers, const Selection& selection,
                                    const QString& message, const Preferences& preferences) {
  routers_ = routers;
  selection_ = selection;
  controls_->setEnabled(routers_ != nullptr);
  list_->setEnabled(routers_ != nullptr);
  maps_->draw(routers, selection, message, preferences);
  if (routers_ == nullptr) return;
  controls_->listScopes(selection, preferences.layer_base);
  showScope();
}

RouteScope InterventionRoutes::scope() const { return controls_->scope(); }

void InterventionRoutes::setScope(RouteScope scope) {
  controls_->setScope(scope);
  showScope();
}

RouterEdit InterventionRoutes::selected() const {
  RouterEdit routes = routesOf(scope(), selection_);
  routes.scale = edits_.scaleOf(routes);
  return routes;
}

void InterventionRoutes::showScope() {
  if (routers_ == nullptr) return;
  maps_->mark(scope());
  controls_->setScale(selected().scale);
}

void InterventionRoutes::requestScale(double scale) {
  if (routers_ == nullptr) return;
  RouterEdit routes = selected();
  if (routes.scale == scale) return;
  routes.scale = scale;
  Q_EMIT scaleRequested(routes);
}

void InterventionRoutes::select(const Selection& selection,
                                const std::vector<RouteScope>& fitting) {
  // A click selects the scope of a cell, unless the present scope fits the heatmap.
  if (std::find(fitting.begin(), fitting.end(), scope()) == fitting.end()) {
    controls_->setScope(fitting.front());
  }
  // Another selection is drawn when the workspace announces it.
  if (selection == selection_) {
    showScope();
  } else {
    Q_EMIT selectionRequested(selection);
  }
}

bool InterventionRoutes::handleKey(QKeyEvent& event) {
  constexpr double kStep = 0.25;
  switch (event.key()) {
    case Qt::Key_Up:
      maps_->walk(-1, 0);
      return true;
    case Qt::Key_Down:
      maps_->walk(1, 0);
      return true;
    case Qt::Key_Left:
      maps_->walk(0, -1);
      return true;
    case Qt::Key_Right:
      maps_->walk(0, 1);
      return true;
    case Qt::Key_0:
    case Qt::Key_Delete:
      requestScale(0.0);
      return true;
    case Qt::Key_1:
    case Qt::Key_Backspace:
      requestScale(1.0);
      return true;
    case Qt::Key_2:
      requestScale(2.0);
      return true;
    case Qt::Key_BracketLeft:
      requestScale(selected().scale - kStep);
      return true;
    case Qt::Key_BracketRight:
      requestScale(selected().scale + kStep);
      return true;
    case Qt::Key_Space:
      controls_->stepScope(!event.modifiers().testFlag(Qt::ShiftModifier));
      Q_EMIT status(controls_->scopeText());
      return true;
    default:
      return false;
  }
}

void InterventionRoutes::keyPressEvent(QKeyEvent* event) {
  const bool is_plain = !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  if (routers_ != nullptr && maps_->hasMapFocus() && is_plain && handleKey(*event)) return;
  QWidget::keyPressEvent(event);
}

void InterventionRoutes::removeListedEdits() {
  std::vector<RouterEdit> gone;
  for (const QModelIndex& index : list_->selectionModel()->selectedRows()) {
    gone.push_back(edits_.edits()[static_cast<std::size_t>(index.row())]);
  }
  for (RouterEdit& edit : gone) {
    edit.scale = 1.0;
    Q_EMIT scaleRequested(edit);
  }
}

bool InterventionRoutes::eventFilter(QObject* watched, QEvent* event) {
  if (watched == list_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Delete || key == Qt::Key_Backspace) {
      removeListedEdits();
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lime::explorer
