// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_canvas.h"

#include <QEvent>
#include <QPainter>
#include <cmath>
#include <limits>
#include <numeric>

namespace lime::explorer {
namespace {

constexpr double kMargin = 0.06;  // of the extent, around it
constexpr double kPointReachPx = 8.0;
constexpr double kNearestZoom = 1000.0;
constexpr int kPale = 60;  // of 255: points that are not selected
constexpr int kUsual = 200;
constexpr double kVisiblePx = 8.0;  // least distance from the edges of a point that keys reach

/// Radius in pixels: few points are large, many small.
double radiusOf(std::size_t count) {
  return std::clamp(90.0 / std::sqrt(static_cast<double>(std::max<std::size_t>(count, 1))), 1.2,
                    4.5);
}

/// Draws discs with soft edges into images, fast enough for 60,000 of them in a frame.
class DiscStamp {
 public:
  /// @param radius  pixels
  explicit DiscStamp(double radius) : reach_(static_cast<int>(std::ceil(radius))) {
    for (int y = -reach_; y <= reach_; ++y) {
      for (int x = -reach_; x <= reach_; ++x) {
        const double outside = std::hypot(x, y) - radius + 0.5;
        cover_.push_back(static_cast<int>(255.0 * std::clamp(1.0 - outside, 0.0, 1.0)));
      }
    }
  }

  /// Blends the disc over an image of opaque pixels. @param strength  of 255
  void put(QImage& image, int x, int y, QRgb colour, int strength) const {
    const int left = std::max(0, x - reach_);
    const int right = std::min(image.width() - 1, x + reach_);
    const int bottom = std::min(image.height() - 1, y + reach_);
    for (int row = std::max(0, y - reach_); row <= bottom; ++row) {
      auto* const line = reinterpret_cast<QRgb*>(image.scanLine(row));
      const int* const cover = cover_.data() + (row - y + reach_) * (2 * reach_ + 1);
      for (int col = left; col <= right; ++col) {
        const int share = cover[col - x + reach_] * strength / 255;
        if (share == 0) continue;
        const QRgb under = line[col];
        const auto mix = [share](int over, int below) {
          return below + (over - below) * share / 255;
        };
        line[col] = qRgb(mix(qRed(colour), qRed(under)), mix(qGreen(colour), qGreen(under)),
                         mix(qBlue(colour), qBlue(under)));
      }
    }
  }

 private:
  int reach_;
  std::vector<int> cover_;  ///< of each pixel, of 255
};

}  // namespace

EmbeddingCanvas::EmbeddingCanvas() { setCursor(Qt::CrossCursor); }

void EmbeddingCanvas::setTitle(const QString& title) {
  title_ = title;
  setAccessibleName(title);
  update();
}

void EmbeddingCanvas::setPoints(MatrixF points, const QRectF& extent) {
  points_ = std::move(points);
  colours_.assign(static_cast<std::size_t>(size()), qRgb(120, 120, 120));
  setSelected({});
  centre_ = -1;
  neighbours_.clear();
  cursor_ = -1;
  extent_ = extent;
  setWindow({.zoom = 1.0, .middle = extent_.center()});
}

void EmbeddingCanvas::setExtent(const QRectF& extent) {
  const QPointF place = window_.middle - extent_.center();
  const double scale = extent.width() / std::max(extent_.width(), 1e-30);
  extent_ = extent;
  setWindow({.zoom = window_.zoom, .middle = extent.center() + scale * place});
}

void EmbeddingCanvas::movePoints(MatrixF points) {
  Q_ASSERT(points.rows() == points_.rows());
  points_ = std::move(points);
  redraw();
}

void EmbeddingCanvas::redraw() {
  image_ = {};
  update();
}

void EmbeddingCanvas::setColours(std::vector<QRgb> colours) {
  Q_ASSERT(colours.size() == colours_.size());
  colours_ = std::move(colours);
  redraw();
}

void EmbeddingCanvas::setSelected(std::vector<int> points) {
  selected_ = std::move(points);
  is_selected_.assign(colours_.size(), 0);
  for (const int point : selected_) is_selected_[static_cast<std::size_t>(point)] = 1;
  redraw();
}

void EmbeddingCanvas::setCentre(int point, std::vector<int> neighbours) {
  centre_ = point;
  neighbours_ = std::move(neighbours);
  update();
}

QTransform EmbeddingCanvas::map() const {
  const double room = std::min(width() / std::max(extent_.width(), 1e-9),
                               height() / std::max(extent_.height(), 1e-9));
  const double scale = window_.zoom * room / (1.0 + 2.0 * kMargin);
  const QPointF& middle = window_.middle;
  return {scale,
          0.0,
          0.0,
          -scale,
          0.5 * width() - scale * middle.x(),
          0.5 * height() + scale * middle.y()};
}

QPointF EmbeddingCanvas::toPixel(int point) const { return map().map(at(point)); }

int EmbeddingCanvas::nearestPoint(const QPointF& position) const {
  const QTransform pixels = map();
  double best = kPointReachPx * kPointReachPx;
  int found = -1;
  for (int i = 0; i < size(); ++i) {
    const QPointF way = pixels.map(at(i)) - position;
    const double distance = QPointF::dotProduct(way, way);
    if (distance > best) continue;
    best = distance;
    found = i;
  }
  return found;
}

std::vector<int> EmbeddingCanvas::pointsInside(const QPolygonF& polygon) const {
  std::vector<int> inside;
  const QRectF around = polygon.boundingRect();
  for (int i = 0; i < size(); ++i) {
    const QPointF pixel = toPixel(i);
    if (around.contains(pixel) && polygon.containsPoint(pixel, Qt::OddEvenFill))
      inside.push_back(i);
  }
  return inside;
}

std::vector<int> EmbeddingCanvas::visiblePoints() const { return pointsInside(QRectF(rect())); }

void EmbeddingCanvas::setWindow(const EmbeddingWindow& window) {
  window_ = window;
  redraw();
}

void EmbeddingCanvas::changeWindow(const QString& what, const EmbeddingWindow& window) {
  const EmbeddingWindow before = window_;
  setWindow(window);
  if (!(window_ == before)) Q_EMIT windowChanged(what, before);
}

bool EmbeddingCanvas::zoomAt(const QPointF& about, double factor, Qt::KeyboardModifiers) {
  const QPointF fixed = map().inverted().map(about);
  EmbeddingWindow window;
  window.zoom = std::clamp(window_.zoom * factor, 1.0, kNearestZoom);
  window.middle = fixed + (window_.middle - fixed) * (window_.zoom / window.zoom);
  if (window.zoom == 1.0) window.middle = extent_.center();
  changeWindow(zoomText(), window);
  return true;
}

void EmbeddingCanvas::zoom(double factor) {
  const QPointF middle = QRectF(rect()).center();
  const bool is_here = cursor_ >= 0 && QRectF(rect()).contains(toPixel(cursor_));
  zoomAt(is_here ? toPixel(cursor_) : middle, factor, {});
}

void EmbeddingCanvas::showAll() {
  changeWindow(u"Show all"_s, {.zoom = 1.0, .middle = extent_.center()});
}

void EmbeddingCanvas::drawPoints(QImage& image, double ratio) const {
  const QTransform pixels = map() * QTransform::fromScale(ratio, ratio);
  const std::size_t count = colours_.size();
  const double radius = ratio * radiusOf(count) * std::min(2.5, std::sqrt(window_.zoom));
  const DiscStamp usual(radius);
  const DiscStamp large(1.35 * radius);
  const auto put = [&](std::size_t i, const DiscStamp& stamp, QRgb colour, int strength) {
    const QPointF where = pixels.map(at(static_cast<int>(i)));
    stamp.put(image, static_cast<int>(where.x()), static_cast<int>(where.y()), colour, strength);
  };
  const int strength = selected_.empty() ? kUsual : kPale;
  // Not in the order of the rows, or the last category would hide the others.
  std::size_t step = count * 618 / 1000 + 1;
  while (std::gcd(step, count) > 1) ++step;
  for (std::size_t n = 0, i = 0; n < count; ++n, i = (i + step) % count) {
    if (is_selected_[i] == 0) put(i, usual, colours_[i], strength);
  }
  // All rings first, or they would hide selected points nearby.
  const DiscStamp ring(1.35 * radius + 1.5 * ratio);
  const std::vector<std::size_t> selected(selected_.begin(), selected_.end());
  for (const auto i : selected) put(i, ring, palette().color(QPalette::Text).rgb(), 255);
  for (const auto i : selected) put(i, large, colours_[i], 255);
}

void EmbeddingCanvas::paintEvent(QPaintEvent*) {
  const double ratio = devicePixelRatioF();
  // A lasso and what the pointer is over are drawn above points that stay.
  const QSize pixels = QSizeF(ratio * QSizeF(QWidget::size())).toSize();
  if (image_.size() != pixels) {
    image_ = QImage(pixels, QImage::Format_RGB32);
    image_.fill(palette().color(QPalette::Base));
    drawPoints(image_, ratio);
    image_.setDevicePixelRatio(ratio);
  }
  QPainter painter(this);
  painter.drawImage(0, 0, image_);
  painter.setRenderHint(QPainter::Antialiasing);
  const QColor ink = palette().color(QPalette::Text);
  if (centre_ >= 0) {
    const QPointF from = toPixel(centre_);
    painter.setPen(QPen(ink, 1.0));
    for (const int neighbour : neighbours_) painter.drawLine(from, toPixel(neighbour));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(ink, 2.0));
    painter.drawEllipse(from, 6.0, 6.0);
    painter.setPen(QPen(ink, 1.0));
    for (const int neighbour : neighbours_) painter.drawEllipse(toPixel(neighbour), 5.0, 5.0);
  }
  if (lasso_.size() > 1) {
    QColor fill = palette().color(QPalette::Highlight);
    painter.setPen(QPen(fill, 1.5));
    fill.setAlpha(40);
    painter.setBrush(fill);
    painter.drawPolygon(lasso_);
  }
  painter.setPen(ink);
  painter.drawText(QPointF(12.0, 8.0 + painter.fontMetrics().ascent()), title_);
  if (cursor_ >= 0) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2.0));
    painter.drawEllipse(toPixel(cursor_), 7.0, 7.0);
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 1.0));
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

void EmbeddingCanvas::pointAt(const QPointF& position) {
  const int point = nearestPoint(position);
  // Beside all points the keys continue from the last one.
  if (point >= 0 || !hasFocus()) setCursorPoint(point);
  Q_EMIT hovered(point);
}

void EmbeddingCanvas::clickAt(const QPointF& position, Qt::KeyboardModifiers modifiers) {
  if (button() == Qt::LeftButton) Q_EMIT clicked(nearestPoint(position), modifiers);
}

bool EmbeddingCanvas::beginDrag(const QPointF&) {
  before_drag_ = window_;
  lasso_.clear();
  return true;
}

void EmbeddingCanvas::drag(const QPointF& from, const QPointF& to) {
  if (button() == Qt::LeftButton) {
    if (lasso_.isEmpty()) lasso_ << from;
    lasso_ << to;
    update();
  } else {
    setWindow(movedBy(from - to));
  }
}

void EmbeddingCanvas::endDrag(Qt::KeyboardModifiers modifiers) {
  const QPolygonF lasso = std::exchange(lasso_, {});
  update();
  if (lasso.size() > 2) Q_EMIT lassoed(pointsInside(lasso), modifiers);
  if (!(window_ == before_drag_)) Q_EMIT windowChanged(moveText(), before_drag_);
}

void EmbeddingCanvas::moveBy(const QPointF& step) {
  changeWindow(moveText(), movedBy(std::min(width(), height()) * step));
}

EmbeddingWindow EmbeddingCanvas::movedBy(const QPointF& pixels) const {
  return {window_.zoom, window_.middle + QPointF(pixels.x(), -pixels.y()) / map().m11()};
}

void EmbeddingCanvas::setCursorPoint(int point) {
  if (cursor_ == point) return;
  cursor_ = point;
  update();
}

void EmbeddingCanvas::reveal(int point) {
  const QRectF seen = QRectF(rect()).adjusted(kVisiblePx, kVisiblePx, -kVisiblePx, -kVisiblePx);
  const QPointF pixel = toPixel(point);
  const QPointF inside(std::clamp(pixel.x(), seen.left(), std::max(seen.left(), seen.right())),
                       std::clamp(pixel.y(), seen.top(), std::max(seen.top(), seen.bottom())));
  changeWindow(moveText(), movedBy(pixel - inside));
}

void EmbeddingCanvas::walk(const QPointF& direction) {
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

void EmbeddingCanvas::keyPressEvent(QKeyEvent* event) {
  const QPointF direction = arrowDirection(*event);
  if (!direction.isNull() && event->modifiers() == Qt::NoModifier) {
    walk(direction);
  } else if (!direction.isNull() && event->modifiers() == Qt::ShiftModifier) {
    std::vector<int> points;
    if (cursor_ >= 0) points.push_back(cursor_);
    walk(direction);
    if (cursor_ >= 0) points.push_back(cursor_);
    Q_EMIT lassoed(points, Qt::ControlModifier);
  } else {
    Canvas::keyPressEvent(event);
  }
}

void EmbeddingCanvas::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) redraw();
}

void EmbeddingCanvas::leaveEvent(QEvent*) {
  if (!hasFocus()) setCursorPoint(-1);
  Q_EMIT hovered(-1);
}

}  // namespace lime::explorer
