// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/router/router_figures.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/play_bar.h"
#include "viz/figure.h"

class QCheckBox;
class QSlider;

namespace lime::explorer {

/// The bar above the router view: the checkpoint and the one to compare with, the values of the
/// heatmaps, and the animation through a series of checkpoints.
class RouterControls : public QWidget {
  Q_OBJECT

 public:
  RouterControls();

  /// Lists the open checkpoints; keeps the selected ones.
  void setCheckpoints(const Workspace& workspace);
  int checkpoint() const;  ///< id; 0: none
  int other() const;       ///< id; 0: none
  void setCheckpoint(int id);
  void setOther(int id);
  /// Disables what applies to stored router weights only, and says so.
  void setDisplayEnabled(bool enabled);

  /// Returns the settings without layer_base, which is a preference.
  RouterDisplay display() const;
  void setDisplay(const RouterDisplay& display);

  /// Sets the checkpoints of the animation in their order; fewer than two hide it.
  void setSeries(const std::vector<int>& ids);
  bool isPlaying() const;
  void setPlaying(bool playing);
  /// Selects the checkpoint `steps` further in the series.
  void step(int steps);

 Q_SIGNALS:
  void checkpointSelected();
  void otherSelected();
  /// The user changed the display; `what` names the change.
  void displayChanged(const QString& what);

 private:
  QComboBox* checkpoint_;
  QComboBox* other_;
  QComboBox* sign_;
  QCheckBox* normalised_;
  QCheckBox* sorted_;
  QSlider* threshold_;
  PlayBar* animation_;
  std::vector<int> series_;
};

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

/// Shows how much each part of a decoder reads of earlier outputs, or each layer of the keys and
/// values of earlier layers: the mean over a capture with the weights of each token, or the weights
/// of the selected tokens. Uniform reading is the reference.
class SourcePane : public FigurePane {
  Q_OBJECT

 public:
  SourcePane(Workspace& workspace, JobRunner& jobs);

  /// Returns true for a capture of token-dependent weights and, if `with_plain`, for a plain
  /// transformer or a capture of one.
  static bool isSource(const Document& document, bool with_plain = true);

  void draw(const Document& document, int layer_base);

 Q_SIGNALS:
  void computed();

 private:
  QString describe(const FigureHit& hit) const;
  /// Returns "attention of layer 2" or, of keys and values, "layer 2".
  QString nameOf(int part, bool is_source) const;

  using Key = std::pair<std::shared_ptr<const CaptureReader>, std::vector<std::int64_t>>;
  Workspace& workspace_;
  CaptureRows rows_;
  JobCache<Key, MatrixD> cache_;
  MatrixD shares_;
  bool is_depth_ = false;
  int layer_base_ = 0;
};

}  // namespace lime::explorer
