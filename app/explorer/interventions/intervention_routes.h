// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QComboBox>
#include <QString>
#include <QWidget>
#include <optional>
#include <tuple>
#include <vector>

#include "analysis/router/edited_routers.h"
#include "explorer/interventions/intervention_edits.h"
#include "explorer/models/preferences.h"
#include "explorer/router/router_maps.h"
#include "explorer/widgets/figure_pane.h"

class QDoubleSpinBox;
class QKeyEvent;
class QPushButton;
class QSlider;

namespace lime::explorer {

class EditList;

/// Draws the edited weights of each layer on each buffered layer, with signs: the mean over reading
/// heads of the sum over buffered heads. Cells with all routes off are crossed out, other edited
/// cells have a mark. The colours are scaled to the original weights, so that an edit moves nothing
/// else.
RouterMap editedLayerMap(const EditedRouters& routers, int layer_base);

/// Draws every edited weight of one layer likewise: rows are heads, columns the heads of layer
/// after layer. `cols` of the map are source_layer * heads + source_head.
RouterMap editedWeightMap(const EditedRouters& routers, int layer, int layer_base);

/// Describes a cell in one line: the edited weight and the original one.
QString describeEditedLayer(const EditedRouters& routers, int layer_base, int layer,
                            int source_layer);
QString describeEditedWeight(const EditedRouters& routers, int layer_base, int layer, int head,
                             int source_layer, int source_head);

/// The left side of the Interventions view: the edited routers as heatmaps, the weights between
/// layers and those of one layer, the selected routes with their scale, and the list of edits.
/// Emits what the user requests, and changes nothing itself.
class InterventionRoutes : public QWidget {
  Q_OBJECT

 public:
  explicit InterventionRoutes(InterventionEdits& edits);

  /// @param routers  null: shows `message`; must stay until the next call
  /// @param selection  with layer, head, source and its head set
  void setRouters(const EditedRouters* routers, const Selection& selection, const QString& message,
                  const Preferences& preferences);
  RouteScope scope() const { return static_cast<RouteScope>(scope_->currentIndex()); }
  void setScope(RouteScope scope);  ///< without scopeSelected()
  FigurePane& layers() { return *layers_; }
  FigurePane& weights() { return *weights_; }

 Q_SIGNALS:
  void selectionRequested(const lime::explorer::Selection& selection);
  void scopeSelected();
  /// @param edit  routes and their scale; 1 removes their edit
  void scaleRequested(const lime::RouterEdit& edit);
  void status(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  /// The routers, layer and look that a heatmap is laid out for; while they stay, edits only change
  /// its cells. The layer is 0 for the heatmap of layers.
  using Layout = std::tuple<const EditedRouters*, int, int, FigureTheme, double>;

  void makeControls();
  void drawMap(FigurePane& pane, RouterMap& map, Layout& drawn, const Layout& layout,
               const FigureStyle& style);
  /// Returns the selection with the cell of a heatmap; no value outside the cells.
  std::optional<Selection> selectionAt(const FigurePane* pane, const FigureHit& hit) const;
  QString describe(const FigurePane* pane, const Selection& item) const;
  int numHeads() const { return static_cast<int>(weight_map_.rows.size()); }
  /// Frames the cells of the scope.
  void mark();
  /// Moves the selection in the heatmap that has the focus.
  void walk(int rows, int cols);
  void select(const FigurePane* pane, const Selection& selection);
  void showScope();
  void selectScope(int scope);
  void requestScale(double scale);
  /// @return false  if the key does nothing here
  bool handleKey(QKeyEvent& event);
  void removeEdits(const std::vector<int>& rows);
  /// Returns the selected routes with the scale of their edit.
  RouterEdit selected() const;

  InterventionEdits& edits_;
  const EditedRouters* routers_ = nullptr;
  Selection selection_;
  int layer_base_ = 0;
  Layout layers_layout_;
  Layout weights_layout_;
  RouterMap layer_map_;
  RouterMap weight_map_;
  FigurePane* layers_;
  FigurePane* weights_;
  QWidget* controls_;
  QComboBox* scope_;
  QSlider* slider_;
  QDoubleSpinBox* scale_;
  QPushButton* off_;
  QPushButton* restore_;
  EditList* list_;
};

}  // namespace lime::explorer
