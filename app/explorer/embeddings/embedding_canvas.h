// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qrgb.h>

#include <QImage>
#include <QPointF>
#include <QPolygonF>
#include <QRectF>
#include <QSize>
#include <QString>
#include <QTransform>
#include <vector>

#include "core/matrix.h"
#include "explorer/widgets/canvas.h"

class QEvent;
class QKeyEvent;
class QPaintEvent;

namespace lime::explorer {

/// The visible part of an embedding.
struct EmbeddingWindow {
  double zoom = 1.0;    ///< >= 1
  QPointF middle = {};  ///< in coordinates

  bool operator==(const EmbeddingWindow&) const = default;
};

/// Draws points in the plane, fast enough that 60,000 of them can move. A lasso selects points; the
/// right or middle button moves. A marker, the cursor, is at the point under the pointer: arrows
/// move it from point to point, with Shift they add the points that they reach.
///
/// Points are discs with soft edges. Selected points are drawn last, larger and ringed; the rest
/// is pale then.
class EmbeddingCanvas : public Canvas {
  Q_OBJECT

 public:
  EmbeddingCanvas();

  void setTitle(const QString& title);
  /// Replaces the points; none of them is selected. @param points  [point, (x, y)]
  /// @param extent  visible area without zoom
  void setPoints(MatrixF points, const QRectF& extent);
  /// Changes the visible area without zoom; the visible part of it stays.
  void setExtent(const QRectF& extent);
  /// Moves the points; their number must stay.
  void movePoints(MatrixF points);
  /// @param colours  one per point
  void setColours(std::vector<QRgb> colours);
  void setSelected(std::vector<int> points);
  const std::vector<int>& selected() const { return selected_; }
  /// Ties a point to its neighbours by lines; -1: none.
  void setCentre(int point, std::vector<int> neighbours);

  int size() const { return static_cast<int>(points_.rows()); }
  int cursor() const { return cursor_; }
  std::vector<int> visiblePoints() const;
  QPointF toPixel(int point) const;
  /// Returns the nearest point within reach of a pixel, or -1.
  int nearestPoint(const QPointF& position) const;
  /// Zooms about the cursor where it is visible, else about the middle.
  void zoom(double factor) override;
  bool zoomAt(const QPointF& about, double factor, Qt::KeyboardModifiers modifiers) override;
  void showAll() override;
  const EmbeddingWindow& window() const { return window_; }
  void setWindow(const EmbeddingWindow& window);

 Q_SIGNALS:
  void hovered(int point);  ///< -1: none
  void clicked(int point, Qt::KeyboardModifiers modifiers);
  void lassoed(const std::vector<int>& points, Qt::KeyboardModifiers modifiers);
  /// The user zoomed or moved, from `before` to window(). @param what  names it for undo
  void windowChanged(const QString& what, const lime::explorer::EmbeddingWindow& before);

 protected:
  void pointAt(const QPointF& position) override;
  void clickAt(const QPointF& position, Qt::KeyboardModifiers modifiers) override;
  void moveBy(const QPointF& step) override;
  bool beginDrag(const QPointF& position) override;
  void drag(const QPointF& from, const QPointF& to) override;
  void endDrag(Qt::KeyboardModifiers modifiers) override;
  void paintEvent(QPaintEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  QSize sizeHint() const override { return {420, 420}; }
  QSize minimumSizeHint() const override { return {120, 120}; }

 private:
  /// Maps coordinates to pixels, with the same scale along both axes.
  QTransform map() const;
  QPointF at(int point) const { return {points_(point, 0), points_(point, 1)}; }
  EmbeddingWindow movedBy(const QPointF& pixels) const;
  void redraw();
  void changeWindow(const QString& what, const EmbeddingWindow& window);
  void setCursorPoint(int point);
  /// Moves so that the point is visible.
  void reveal(int point);
  void drawPoints(QImage& image, double ratio) const;
  std::vector<int> pointsInside(const QPolygonF& polygon) const;
  void walk(const QPointF& direction);

  QString title_;
  MatrixF points_;
  std::vector<QRgb> colours_;
  std::vector<int> selected_;
  std::vector<char> is_selected_;
  int centre_ = -1;
  std::vector<int> neighbours_;
  int cursor_ = -1;  ///< -1: none
  QImage image_;     ///< the points as drawn last; null: must be drawn
  QRectF extent_ = QRectF(-1.0, -1.0, 2.0, 2.0);
  EmbeddingWindow window_;
  EmbeddingWindow before_drag_;
  QPolygonF lasso_;
};

}  // namespace lime::explorer
