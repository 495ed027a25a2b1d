// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "explorer/interventions/intervention_edits.h"
#include "explorer/models/preferences.h"
#include "explorer/router/router_figures.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime::explorer {

class FigurePane;

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

/// Shows the edited routers as heatmaps: the weights between layers, and those of one layer. Clicks
/// and arrows select a cell.
class RouteMaps : public QWidget {
  Q_OBJECT

 public:
  RouteMaps();

  FigurePane& layers() { return *layers_; }
  FigurePane& weights() { return *weights_; }
  bool hasMapFocus() const;

  /// @param routers  null: shows `message`; must stay until the next call
  /// @param selection  with layer, head, source and its head set
  void draw(const EditedRouters* routers, const Selection& selection, const QString& message,
            const Preferences& preferences);
  /// Frames the cells of a scope.
  void mark(RouteScope scope);
  /// Moves the selection in the heatmap that has the focus.
  void walk(int rows, int cols);

 Q_SIGNALS:
  /// @param fitting  scopes that show in the heatmap that was used; the first is the cell's
  void selectionRequested(const lime::explorer::Selection& selection,
                          const std::vector<lime::explorer::RouteScope>& fitting);
  void status(const QString& text);

 private:
  /// A heatmap is laid out for these values; while they stay, edits only change its cells.
  struct Layout {
    const EditedRouters* routers = nullptr;
    int layer = 0;  ///< of the weights; 0 for the heatmap of layers
    int layer_base = 0;
    FigureTheme theme = FigureTheme::kLight;
    double font_size = 0.0;

    bool operator==(const Layout&) const = default;
  };
  void drawMap(FigurePane& pane, RouterMap& map, Layout& drawn, const Layout& wanted,
               const FigureStyle& style);
  /// Returns the selection with the cell of a heatmap; nothing beside the cells.
  std::optional<Selection> selectionAt(const FigurePane* pane, const FigureHit& hit) const;
  QString describe(const FigurePane* pane, const Selection& one) const;
  int numHeads() const { return static_cast<int>(weight_map_.rows.size()); }

  const EditedRouters* routers_ = nullptr;
  Selection selection_;
  int layer_base_ = 0;
  Layout layers_layout_;
  Layout weights_layout_;
  RouterMap layer_map_;
  RouterMap weight_map_;
  FigurePane* layers_;
  FigurePane* weights_;
};

}  // namespace lime::explorer
