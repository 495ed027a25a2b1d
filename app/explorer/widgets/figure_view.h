// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QPointF>
#include <QRectF>
#include <QSize>
#include <QString>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "explorer/widgets/canvas.h"
#include "explorer/widgets/panel_ranges.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"
#include "viz/figure_style.h"

class QEvent;
class QPaintEvent;
class QPainter;
class QResizeEvent;
class QTimer;

namespace lime::explorer {

/// Highlighted rectangle on a panel's axes: the selection, or the item under the pointer.
struct FigureMark {
  std::size_t panel = 0;
  QRectF area;  ///< on the axes
  bool is_strong = true;
};

/// Draws a figure with the code that writes PDFs, and lets the user point at it, zoom and move it.
/// The wheel with Ctrl zooms along x only, with Shift along y only.
class FigureView : public Canvas {
  Q_OBJECT

 public:
  FigureView();
  ~FigureView() override;

  /// Shows `figure`, or without one the message. The zoom stays where the number of panels does.
  void setFigure(std::optional<Figure> figure);
  /// Replaces the cells and marks of a heatmap. The number of cells must stay; nothing is laid out
  /// again, and setMarks() stay.
  void updateMap(std::size_t panel, MatrixD values, std::vector<HeatmapPanel::Mark> marks);
  const Figure* figure() const { return figure_ ? &*figure_ : nullptr; }
  /// Sets the text that is shown without a figure: how to get one.
  void setMessage(const QString& message);
  QString message() const { return message_; }

  void setFigureStyle(const FigureStyle& style);
  /// Draws panels with the aspect of the figure; else they fill the widget.
  void setKeepsAspect(bool keeps);
  void setMarks(std::vector<FigureMark> marks);
  /// Marks a band about `x` in every panel; removes all marks where it is unset.
  void markColumn(std::optional<double> x, double width);
  /// Sets the function that words what the pointer is over, for status().
  void setDescriber(std::function<QString(const FigureHit&)> describe) {
    describe_ = std::move(describe);
  }
  void linkAxes(Workspace& workspace, std::vector<AxisLink> links);
  /// Links the x axes of all panels of the figure to `quantity`, of which x = 0 is `origin`.
  void linkAllPanels(Workspace& workspace, const QString& quantity, double origin = 0.0);

  void zoom(double factor) override;  ///< about the middle of all panels
  void showAll() override;
  bool isZoomed() const { return ranges_.isZoomed(); }
  FigureWindows windows() const { return ranges_.windows(); }
  void setWindows(const FigureWindows& windows) { ranges_.setWindows(windows); }

  std::optional<FigureHit> hitAt(const QPointF& position);
  /// Converts a point on a panel's axes to pixels of the widget.
  QPointF toPixel(std::size_t panel, const QPointF& point);
  /// Returns the panel's axis area in pixels of the widget; empty for tables.
  QRectF panelArea(std::size_t panel);
  /// Returns the label of the legend's entry at `position`; empty beside all entries.
  QString legendLabelAt(const QPointF& position);

 Q_SIGNALS:
  void hovered(const lime::FigureHit& hit);
  /// The pointer moved: the text of the describer, empty beside the panels.
  void status(const QString& text);
  void clicked(const lime::FigureHit& hit, Qt::KeyboardModifiers modifiers);
  void legendClicked(const QString& label);
  /// The user zoomed or moved, from `before` to windows(). @param what  names it for undo
  void windowsChanged(const QString& what, const lime::explorer::FigureWindows& before);

 protected:
  void pointAt(const QPointF& position) override;
  void clickAt(const QPointF& position, Qt::KeyboardModifiers modifiers) override;
  bool zoomAt(const QPointF& position, double factor, Qt::KeyboardModifiers modifiers) override;
  void moveBy(const QPointF& step) override;
  bool beginDrag(const QPointF& position) override;
  void drag(const QPointF& from, const QPointF& to) override;
  void endDrag(Qt::KeyboardModifiers modifiers) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  QSize sizeHint() const override { return {480, 360}; }
  QSize minimumSizeHint() const override { return {160, 120}; }

 private:
  FigureScene* scene();  ///< laid out; null without a figure
  void resetScene();
  void layOut();
  void redraw();
  void paintScene();
  void paintMessage(QPainter& painter) const;
  void paintMarks(QPainter& painter);
  QPointF toUnits(const QPointF& position) const;
  void move(std::size_t panel, PanelRange range, const QPointF& from, const QPointF& to);
  /// Runs `change` as one windowsChanged(), if it changes anything.
  void changeWindows(const QString& what, const std::function<void()>& change);
  /// Calls `change` for every panel with axes and its range before, likewise.
  void changePanels(const QString& what,
                    const std::function<void(std::size_t panel, const PanelRange& range)>& change);

  std::optional<Figure> figure_;
  QString message_;
  FigureStyle style_;
  bool keeps_aspect_ = false;
  std::vector<FigureMark> marks_;
  std::function<QString(const FigureHit&)> describe_;

  std::unique_ptr<FigureScene> scene_;
  PanelRanges ranges_;
  QPointF origin_;         ///< of the scene in the widget, pixels
  double scale_ = 1.0;     ///< pixels per unit of the scene
  QImage image_;           ///< the scene in the screen's pixels
  bool is_stale_ = true;   ///< the image
  bool is_slow_ = false;   ///< the image took long to draw
  bool is_rough_ = false;  ///< the image was drawn quickly
  QTimer* rest_;           ///< runs while the figure moves
  QString problem_;        ///< why there is no scene

  std::optional<std::size_t> dragged_panel_;
  FigureWindows before_drag_;
};

}  // namespace lime::explorer
