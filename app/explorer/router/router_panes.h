// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <optional>
#include <utility>
#include <vector>

#include "explorer/router/router_flow_figure.h"
#include "explorer/router/router_maps.h"
#include "explorer/widgets/figure_pane.h"
#include "viz/figure.h"

class QTabBar;

namespace lime::explorer {

/// Selects the content of the lower right pane.
enum class RouterDetail { kWeights, kFlow, kAllHeads };

/// Shows the routers of a checkpoint: the heatmap of layers, what each reads of the embeddings, the
/// heads of the selected layer, and the weights between two layers, the flow into the selected
/// head, or the heads of all layers.
class RouterPanes : public QWidget {
  Q_OBJECT

 public:
  explicit RouterPanes(Workspace& workspace);

  FigurePane& layers() { return *layers_; }
  FigurePane& embeddings() { return *embeddings_; }
  FigurePane& heads() { return *heads_; }
  FigurePane& detail() { return *detail_; }
  RouterDetail detailKind() const;
  void setDetailKind(RouterDetail kind);  ///< without detailKindChanged()

  /// Draws. @param selection  completed() for the routers
  /// @param largest  magnitude at the end of the colours of the layers; unset: of the heatmap's
  void draw(const RouterSubject& subject, const RouterDisplay& display, const Selection& selection,
            std::optional<double> largest);
  void drawNothing(const QString& message);
  /// Draws again what depends on the selection, after draw().
  void select(const Selection& selection);

 Q_SIGNALS:
  void detailKindChanged();
  /// @param text  names the step of undo
  void selectionRequested(const lime::explorer::Selection& selection, const QString& text);

 private:
  void drawLayers(std::optional<double> largest);
  void drawHeads();
  void drawDetail();
  /// Returns true if the detail is the same for two selections, but for its marks.
  bool hasSameDetail(const Selection& a, const Selection& b) const;
  /// Returns the axes that zoom with those of other plots of source layers.
  std::vector<AxisLink> sourceLinks() const;
  void mark();
  void click(const FigurePane* pane, const FigureHit& hit);
  /// Returns the buffered layer and head of the dot that is hit.
  std::optional<std::pair<int, int>> nodeAt(const FigureHit& hit) const;
  QString describe(const FigurePane* pane, const FigureHit& hit) const;
  QString describeFlow(const FigureHit& hit) const;
  QString describeShare(const FigureHit& hit) const;
  bool showsFlow() const { return detailKind() == RouterDetail::kFlow; }
  /// Returns the layers or heads of row and column; nothing outside the cells.
  std::optional<std::pair<int, int>> cellAt(const FigurePane* pane, const FigureHit& hit) const;

  Workspace& workspace_;
  std::optional<RouterSubject> subject_;
  RouterDisplay display_;
  Selection selection_;
  RouterMap layer_map_;
  RouterMap head_map_;
  RouterMap block_map_;
  RouterFlowFigure flow_;
  RouterOverview all_heads_;
  FigurePane* layers_;
  FigurePane* embeddings_;
  FigurePane* heads_;
  FigurePane* detail_;
  QTabBar* detail_kind_;
};

}  // namespace lime::explorer
