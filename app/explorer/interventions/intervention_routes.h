// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <vector>

#include "explorer/interventions/intervention_edits.h"
#include "explorer/interventions/intervention_figures.h"
#include "explorer/models/preferences.h"

class QTableView;

namespace lime::explorer {

class RouteControls;
class RouteMaps;

/// The left side of the Interventions view: the edited routers, the selected routes with their
/// scale, and the list of edits. Emits what the user requests, and changes nothing itself.
class InterventionRoutes : public QWidget {
  Q_OBJECT

 public:
  explicit InterventionRoutes(InterventionEdits& edits, QWidget* parent = nullptr);

  /// @param routers  null: shows `message`; must stay until the next call
  /// @param selection  with layer, head, source and its head set
  void setRouters(const EditedRouters* routers, const Selection& selection, const QString& message,
                  const Preferences& preferences);
  RouteScope scope() const;
  void setScope(RouteScope scope);
  RouteMaps& maps() { return *maps_; }

 Q_SIGNALS:
  void selectionRequested(const lime::explorer::Selection& selection);
  void scopeSelected();
  /// @param edit  routes and their scale; 1 removes their edit
  void scaleRequested(const lime::RouterEdit& edit);
  void status(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeList();
  void select(const Selection& selection, const std::vector<RouteScope>& fitting);
  void showScope();
  void requestScale(double scale);
  /// @return false  if the key does nothing here
  bool handleKey(QKeyEvent& event);
  void removeListedEdits();
  /// Returns the selected routes with the scale of their edit.
  RouterEdit selected() const;

  InterventionEdits& edits_;
  const EditedRouters* routers_ = nullptr;
  Selection selection_;
  RouteMaps* maps_;
  RouteControls* controls_;
  QTableView* list_;
};

}  // namespace lime::explorer
