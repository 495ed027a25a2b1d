// SPDX-License-Identifier: Apache-2.0
// Mouse and keys of a cloud.
#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "explorer/views/arrow_keys.h"
#include "explorer/views/cloud_canvas.h"

namespace lime::explorer {
namespace {

constexpr double kWheelFactor = 1.2;
const QString kMove = QStringLiteral("Move");  // as undo names it
constexpr double kSeenPx = 8.0;  // at least so far from the edges is a point that keys reach

}  // namespace

void CloudCanvas::mousePressEvent(QMouseEvent* event) {
  if (pressed_) return;
  pressed_ = event->position();
  button_ = event->button();
  last_ = event->position();
  before_drag_ = window_;
  is_dragging_ = false;
  lasso_.clear();
}

void CloudCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  if (!pressed_) {
    const int point = pointAt(position);
    // Beside all points the keys go on from the last one.
    if (point >= 0 || !hasFocus()) setCursorPoint(point);
    Q_EMIT hovered(point);
    return;
  }
  if ((position - *pressed_).manhattanLength() > 4.0) is_dragging_ = true;
  if (!is_dragging_) return;
  if (button_ == Qt::LeftButton) {
    if (lasso_.isEmpty()) lasso_ << *pressed_;
    lasso_ << position;
  } else {
    const double scale = map().scale;
    const QPointF way((position.x() - last_.x()) / scale, (last_.y() - position.y()) / scale);
    setWindow({window_.zoom, window_.middle - way});
  }
  last_ = position;
  update();
}

void CloudCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressed_ || event->button() != button_) return;
  pressed_.reset();
  const QPolygonF lasso = std::exchange(lasso_, {});
  update();
  if (button_ != Qt::LeftButton) {
    if (!(window_ == before_drag_)) Q_EMIT windowChanged(kMove, before_drag_);
    return;
  }
  if (!is_dragging_) {
    Q_EMIT clicked(pointAt(event->position()), event->modifiers());
  } else if (lasso.size() > 2) {
    Q_EMIT lassoed(pointsInside(lasso), event->modifiers());
  }
}

void CloudCanvas::mouseDoubleClickEvent(QMouseEvent*) { showAll(); }

void CloudCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const double notches = (turn.y() != 0 ? turn.y() : turn.x()) / 120.0;
  zoom(std::pow(kWheelFactor, notches), event->position());
  event->accept();
}

void CloudCanvas::setCursorPoint(int point) {
  if (cursor_ == point) return;
  cursor_ = point;
  update();
}

void CloudCanvas::reveal(int point) {
  const QRectF seen = QRectF(rect()).adjusted(kSeenPx, kSeenPx, -kSeenPx, -kSeenPx);
  const QPointF at = toPixel(point);
  const QPointF inside(std::clamp(at.x(), seen.left(), std::max(seen.left(), seen.right())),
                       std::clamp(at.y(), seen.top(), std::max(seen.top(), seen.bottom())));
  const QPointF way = (at - inside) / map().scale;
  changeWindow(kMove, {window_.zoom, window_.middle + QPointF(way.x(), -way.y())});
}

void CloudCanvas::walk(const QPointF& direction) {
  const QPointF from = cursor_ < 0 ? QRectF(rect()).center() : toPixel(cursor_);
  int nearest = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < size(); ++i) {
    const QPointF way = toPixel(i) - from;
    const double along = QPointF::dotProduct(way, direction);
    const double distance = QPointF::dotProduct(way, way);
    const bool is_that_way = along > 0.0 && 2.0 * along * along >= distance;
    if ((cursor_ >= 0 && !is_that_way) || !(distance < least)) continue;
    nearest = i;
    least = distance;
  }
  if (nearest < 0) return;
  setCursorPoint(nearest);
  reveal(cursor_);
  Q_EMIT hovered(cursor_);
}

void CloudCanvas::keyPressEvent(QKeyEvent* event) {
  const QPointF direction = arrowOf(*event);
  if (!direction.isNull() && event->modifiers() == Qt::NoModifier) {
    walk(direction);
  } else if (!direction.isNull() && event->modifiers() == Qt::ShiftModifier) {
    std::vector<int> points;
    if (cursor_ >= 0) points.push_back(cursor_);
    walk(direction);
    if (cursor_ >= 0) points.push_back(cursor_);
    Q_EMIT lassoed(points, Qt::ControlModifier);
  } else if (!direction.isNull() && event->modifiers() == Qt::ControlModifier) {
    const double step = kKeyStep * std::min(width(), height()) / map().scale;
    const QPointF way(step * direction.x(), -step * direction.y());
    changeWindow(kMove, {window_.zoom, window_.middle + way});
  } else {
    QWidget::keyPressEvent(event);
  }
}

void CloudCanvas::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}

void CloudCanvas::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

void CloudCanvas::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) redraw();
}

void CloudCanvas::leaveEvent(QEvent*) {
  if (!hasFocus()) setCursorPoint(-1);
  Q_EMIT hovered(-1);
}

}  // namespace lime::explorer
