// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QPolygonF>
#include <QRectF>
#include <QWidget>
#include <optional>
#include <vector>

namespace lime::explorer {

/// The part of a cloud that is seen.
struct CloudWindow {
  double zoom = 1.0;    ///< >= 1
  QPointF middle = {};  ///< in coordinates

  bool operator==(const CloudWindow&) const = default;
};

/// Points in the plane, drawn fast enough that 60,000 of them can move: a lasso chooses some, the
/// wheel zooms, the right or middle button moves, a double click shows all. A marker, the cursor,
/// is at the point that the pointer is over; arrows walk with it from point to point, with Shift
/// they add the points that they reach, with Ctrl they move the cloud.
///
/// Points are discs with soft edges, put into an image pixel by pixel; what is chosen is drawn last
/// and larger, the rest is pale then.
class CloudCanvas : public QWidget {
  Q_OBJECT

 public:
  explicit CloudCanvas(QWidget* parent = nullptr);

  void setTitle(const QString& title);
  /// New points, none of them chosen. @param extent  what is shown without zoom
  void setPoints(std::vector<float> x, std::vector<float> y, const QRectF& extent);
  /// The same points elsewhere, as many as there are.
  void movePoints(std::vector<float> x, std::vector<float> y);
  /// One per point.
  void setColours(std::vector<QRgb> colours);
  void setChosen(std::vector<int> points);
  const std::vector<int>& chosen() const { return chosen_; }
  /// A point and its neighbours, tied to it by lines; -1 and none: nothing.
  void setCentre(int point, std::vector<int> neighbours);

  int size() const { return static_cast<int>(x_.size()); }
  int cursor() const { return cursor_; }
  /// All that lie in the part that is seen.
  std::vector<int> pointsShown() const;
  QPointF toPixel(int point) const;
  /// The nearest point within reach of a pixel, or -1.
  int pointAt(const QPointF& position) const;
  void zoom(double factor, const QPointF& about);
  void zoom(double factor);  ///< about the cursor where it is seen, else about the middle
  void showAll();
  const CloudWindow& window() const { return window_; }
  void setWindow(const CloudWindow& window);

 Q_SIGNALS:
  void hovered(int point);  ///< -1: none
  void clicked(int point, Qt::KeyboardModifiers modifiers);
  void lassoed(const std::vector<int>& points, Qt::KeyboardModifiers modifiers);
  /// Somebody has zoomed or moved, from `before` to window(). @param what  names it for undo
  void windowChanged(const QString& what, const lime::explorer::CloudWindow& before);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void changeEvent(QEvent* event) override;
  QSize sizeHint() const override { return {420, 420}; }
  QSize minimumSizeHint() const override { return {120, 120}; }

 private:
  /// How coordinates become pixels: the same scale along both axes.
  struct Map {
    double scale = 1.0;
    double left = 0.0;
    double top = 0.0;
  };
  Map map() const;
  /// The points have changed: what was drawn of them no longer holds.
  void redraw();
  void changeWindow(const QString& what, const CloudWindow& window);
  void setCursorPoint(int point);
  /// Moves so that the point is seen.
  void reveal(int point);
  void drawPoints(QImage& image, double ratio) const;
  std::vector<int> pointsInside(const QPolygonF& polygon) const;
  void walk(const QPointF& direction);

  QString title_;
  std::vector<float> x_;
  std::vector<float> y_;
  std::vector<QRgb> colours_;
  std::vector<int> chosen_;
  std::vector<char> is_chosen_;
  int centre_ = -1;
  std::vector<int> neighbours_;
  int cursor_ = -1;  ///< point that the keys have reached or the pointer is over; -1: none
  QImage image_;     ///< the points as drawn last; null: anew
  QRectF extent_ = QRectF(-1.0, -1.0, 2.0, 2.0);
  CloudWindow window_;

  std::optional<QPointF> pressed_;
  Qt::MouseButton button_ = Qt::NoButton;
  bool is_dragging_ = false;
  CloudWindow before_drag_;
  QPointF last_;
  QPolygonF lasso_;
};

}  // namespace lime::explorer
