// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QPolygonF>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "explorer/models/selection.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"
#include "viz/figure_scene.h"
#include "viz/figure_style.h"

class QTimer;

namespace lime::explorer {

class Workspace;

/// An axis of a panel that shows a quantity of the workspace: views with axes of one quantity zoom
/// together. A coordinate c stands for `origin + c`, or reversed for `origin - c`.
struct AxisLink {
  std::size_t panel = 0;
  Qt::Orientation axis = Qt::Horizontal;
  QString quantity;
  double origin = 0.0;
  bool is_reversed = false;
};

/// A rectangle on a panel's axes that stands out: the selection, what the mouse is over.
struct FigureMark {
  std::size_t panel = 0;
  QRectF area;  ///< on the axes
  bool is_strong = true;
};

/// What a figure shows of each panel, and of the quantities that its axes are linked by.
struct FigureWindows {
  std::vector<std::optional<PanelRange>> panels;  ///< unset: all of it
  std::vector<std::pair<QString, std::optional<AxisWindow>>> linked;

  bool operator==(const FigureWindows&) const = default;
};

/// A figure that answers to the mouse, drawn by the same code that writes PDFs.
///
/// The wheel zooms about the pointer (with Ctrl only along x, with Shift only along y), dragging
/// and Ctrl with the arrows move, a double click shows all again. Maps and clouds move along both
/// axes, curves too.
class FigureView : public QWidget {
  Q_OBJECT

 public:
  enum class Drag { kMove, kLasso };

  explicit FigureView(QWidget* parent = nullptr);
  ~FigureView() override;

  /// Shows `figure`; zoom is kept where the number of panels stays. Nothing: shows the message.
  void setFigure(std::optional<Figure> figure);
  /// Gives a map other cells and marks, as many as it has; nothing else of the figure changes, and
  /// nothing is laid out anew. Marks of setMarks() stay.
  void updateMap(std::size_t panel, MatrixD values, std::vector<MapPanel::Mark> marks);
  const Figure* figure() const { return figure_ ? &*figure_ : nullptr; }
  /// What stands in place of a figure: what to do to see one.
  void setMessage(const QString& message);
  QString message() const { return message_; }

  void setFigureStyle(const FigureStyle& style);
  /// Draws panels with the aspect that the figure asks for, as large as fits; else they fill the
  /// widget.
  void setKeepsAspect(bool keeps);
  void setDrag(Drag drag);
  void setMarks(std::vector<FigureMark> marks);
  void linkAxes(Workspace& workspace, std::vector<AxisLink> links);
  /// Links the x axes of all panels of the figure to `quantity`, of which x = 0 is `origin`.
  void linkAllPanels(Workspace& workspace, const QString& quantity, double origin = 0.0);

  void zoom(double factor);  ///< about the middle of all panels; > 1 comes nearer
  void showAll();
  bool isZoomed() const;
  FigureWindows windows() const;
  /// Goes back to what windows() gave. Of a figure that has other panels since, only the linked
  /// quantities.
  void setWindows(const FigureWindows& windows);

  /// What lies at `position` of the widget.
  std::optional<FigureHit> hitAt(const QPointF& position);
  /// A point on a panel's axes in pixels of the widget.
  QPointF toPixel(std::size_t panel, const QPointF& point);
  /// The panel's axis area in pixels of the widget; empty for tables.
  QRectF panelArea(std::size_t panel);

 Q_SIGNALS:
  void hovered(const lime::FigureHit& hit);
  void unhovered();
  void clicked(const lime::FigureHit& hit, Qt::KeyboardModifiers modifiers);
  /// The points inside are those that a polygon on the panel's axes surrounds.
  void lassoed(std::size_t panel, const QPolygonF& polygon, Qt::KeyboardModifiers modifiers);
  /// Somebody has zoomed or moved, from `before` to windows(). @param what  names it for undo
  void windowsChanged(const QString& what, const lime::explorer::FigureWindows& before);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  QSize sizeHint() const override { return {480, 360}; }
  QSize minimumSizeHint() const override { return {160, 120}; }

 private:
  FigureScene* scene();  ///< laid out; null without a figure
  void forgetScene();
  void layOut();
  void paintScene();
  void paintMessage(QPainter& painter) const;
  void paintMarks(QPainter& painter);
  QPointF toUnits(const QPointF& position) const;
  void keepWithin(std::size_t panel);
  PanelRange rangeOf(std::size_t panel) const;
  void setRange(std::size_t panel, PanelRange range);
  void applyRange(std::size_t panel);
  static PanelRange zoomedAbout(const FigureHit& hit, PanelRange range, double factor,
                                Qt::KeyboardModifiers modifiers);
  PanelRange movedBy(std::size_t panel, PanelRange range, const QPointF& from, const QPointF& to);
  /// `change` as one windowsChanged(), where it changes anything.
  void changeWindows(const QString& what, const std::function<void()>& change);
  void tellLinks(std::size_t panel);
  void hearLink(const QString& quantity);

  std::optional<Figure> figure_;
  QString message_;
  FigureStyle style_;
  bool keeps_aspect_ = false;
  Drag drag_ = Drag::kMove;
  std::vector<FigureMark> marks_;
  Workspace* workspace_ = nullptr;
  std::vector<AxisLink> links_;
  std::optional<std::size_t> telling_;  ///< panel whose window the others are being told

  std::unique_ptr<FigureScene> scene_;
  QPointF origin_;                               ///< of the scene in the widget, pixels
  double scale_ = 1.0;                           ///< pixels per unit of the scene
  std::vector<PanelRange> all_;                  ///< of each panel
  std::vector<std::optional<PanelRange>> zoom_;  ///< of each panel; unset: all
  QImage image_;                                 ///< the scene in the screen's pixels
  bool is_stale_ = true;                         ///< the image
  bool is_slow_ = false;                         ///< the image took long to draw
  bool is_rough_ = false;                        ///< the image was drawn quickly
  QTimer* rest_;                                 ///< runs while the figure moves
  QString problem_;                              ///< why there is no scene

  std::optional<QPointF> pressed_;
  std::optional<std::size_t> pressed_panel_;
  bool is_dragging_ = false;
  FigureWindows before_drag_;
  QPointF last_;
  QPolygonF lasso_;  ///< in the widget's pixels
};

}  // namespace lime::explorer
