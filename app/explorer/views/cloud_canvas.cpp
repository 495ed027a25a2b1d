// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/cloud_canvas.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

namespace lime::explorer {
namespace {

constexpr double kCloudMargin = 0.06;  // of the extent, around it
constexpr double kPointReachPx = 8.0;
constexpr double kNearestZoom = 1000.0;  // zoom
constexpr int kPale = 60;                // of 255: points that are not chosen
constexpr int kUsual = 200;

/// A disc with a soft edge: how much of each pixel it covers, of 255.
class Stamp {
 public:
  explicit Stamp(double radius) : reach_(static_cast<int>(std::ceil(radius))) {
    for (int y = -reach_; y <= reach_; ++y) {
      for (int x = -reach_; x <= reach_; ++x) {
        const double outside = std::hypot(x, y) - radius + 0.5;
        cover_.push_back(static_cast<int>(255.0 * std::clamp(1.0 - outside, 0.0, 1.0)));
      }
    }
  }

  /// Blends the disc over an image of opaque pixels. @param strength  of 255
  void put(QImage& image, int x, int y, QRgb colour, int strength) const {
    if (x < -reach_ || y < -reach_ || x >= image.width() + reach_ || y >= image.height() + reach_) {
      return;
    }
    const int red = qRed(colour);
    const int green = qGreen(colour);
    const int blue = qBlue(colour);
    const int side = 2 * reach_ + 1;
    const int left = std::max(0, x - reach_);
    const int right = std::min(image.width() - 1, x + reach_);
    for (int row = std::max(0, y - reach_); row <= std::min(image.height() - 1, y + reach_);
         ++row) {
      auto* const line = reinterpret_cast<QRgb*>(image.scanLine(row));
      const int* const cover = cover_.data() + (row - y + reach_) * side;
      for (int col = left; col <= right; ++col) {
        const int share = cover[col - x + reach_] * strength / 255;
        if (share == 0) continue;
        const QRgb under = line[col];
        const auto mix = [share](int over, int below) {
          return below + (over - below) * share / 255;
        };
        line[col] = qRgb(mix(red, qRed(under)), mix(green, qGreen(under)), mix(blue, qBlue(under)));
      }
    }
  }

 private:
  int reach_;
  std::vector<int> cover_;
};

/// Radius in pixels: few points are large, many small.
double radiusOf(std::size_t count) {
  return std::clamp(90.0 / std::sqrt(static_cast<double>(std::max<std::size_t>(count, 1))), 1.2,
                    4.5);
}

}  // namespace

CloudCanvas::CloudCanvas(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setCursor(Qt::CrossCursor);
}

void CloudCanvas::setTitle(const QString& title) {
  title_ = title;
  setAccessibleName(title);
  update();
}

void CloudCanvas::setPoints(std::vector<float> x, std::vector<float> y, const QRectF& extent) {
  x_ = std::move(x);
  y_ = std::move(y);
  colours_.assign(x_.size(), qRgb(120, 120, 120));
  chosen_.clear();
  is_chosen_.assign(x_.size(), 0);
  centre_ = -1;
  neighbours_.clear();
  cursor_ = -1;
  extent_ = extent;
  setWindow({.zoom = 1.0, .middle = extent_.center()});
}

void CloudCanvas::movePoints(std::vector<float> x, std::vector<float> y) {
  Q_ASSERT(x.size() == x_.size());
  x_ = std::move(x);
  y_ = std::move(y);
  redraw();
}

void CloudCanvas::redraw() {
  image_ = {};
  update();
}

void CloudCanvas::setColours(std::vector<QRgb> colours) {
  Q_ASSERT(colours.size() == x_.size());
  colours_ = std::move(colours);
  redraw();
}

void CloudCanvas::setChosen(std::vector<int> points) {
  chosen_ = std::move(points);
  is_chosen_.assign(x_.size(), 0);
  for (const int point : chosen_) is_chosen_[static_cast<std::size_t>(point)] = 1;
  redraw();
}

void CloudCanvas::setCentre(int point, std::vector<int> neighbours) {
  centre_ = point;
  neighbours_ = std::move(neighbours);
  update();
}

CloudCanvas::Map CloudCanvas::map() const {
  const double room = std::min(width() / std::max(extent_.width(), 1e-9),
                               height() / std::max(extent_.height(), 1e-9));
  const double scale = window_.zoom * room / (1.0 + 2.0 * kCloudMargin);
  const QPointF& middle = window_.middle;
  return {scale, 0.5 * width() - scale * middle.x(), 0.5 * height() + scale * middle.y()};
}

QPointF CloudCanvas::toPixel(int point) const {
  const Map m = map();
  const auto at = static_cast<std::size_t>(point);
  return {m.left + m.scale * static_cast<double>(x_[at]),
          m.top - m.scale * static_cast<double>(y_[at])};
}

int CloudCanvas::pointAt(const QPointF& position) const {
  const Map m = map();
  double best = kPointReachPx * kPointReachPx;
  int found = -1;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const double dx = m.left + m.scale * static_cast<double>(x_[i]) - position.x();
    const double dy = m.top - m.scale * static_cast<double>(y_[i]) - position.y();
    const double distance = dx * dx + dy * dy;
    if (distance > best) continue;
    best = distance;
    found = static_cast<int>(i);
  }
  return found;
}

std::vector<int> CloudCanvas::pointsInside(const QPolygonF& polygon) const {
  std::vector<int> inside;
  const QRectF around = polygon.boundingRect();
  for (int i = 0; i < size(); ++i) {
    const QPointF at = toPixel(i);
    if (around.contains(at) && polygon.containsPoint(at, Qt::OddEvenFill)) inside.push_back(i);
  }
  return inside;
}

std::vector<int> CloudCanvas::pointsShown() const { return pointsInside(QRectF(rect())); }

void CloudCanvas::setWindow(const CloudWindow& window) {
  window_ = window;
  redraw();
}

void CloudCanvas::changeWindow(const QString& what, const CloudWindow& window) {
  const CloudWindow before = window_;
  setWindow(window);
  if (!(window_ == before)) Q_EMIT windowChanged(what, before);
}

void CloudCanvas::zoom(double factor, const QPointF& about) {
  const Map before = map();
  const QPointF fixed((about.x() - before.left) / before.scale,
                      (before.top - about.y()) / before.scale);
  CloudWindow window;
  window.zoom = std::clamp(window_.zoom * factor, 1.0, kNearestZoom);
  const double scale = before.scale * window.zoom / window_.zoom;
  window.middle = {fixed.x() - (about.x() - 0.5 * width()) / scale,
                   fixed.y() + (about.y() - 0.5 * height()) / scale};
  if (window.zoom == 1.0) window.middle = extent_.center();
  changeWindow(QStringLiteral("Zoom"), window);
}

void CloudCanvas::zoom(double factor) {
  const QPointF middle = QRectF(rect()).center();
  const bool is_here = cursor_ >= 0 && QRectF(rect()).contains(toPixel(cursor_));
  zoom(factor, is_here ? toPixel(cursor_) : middle);
}

void CloudCanvas::showAll() {
  changeWindow(QStringLiteral("Show all"), {.zoom = 1.0, .middle = extent_.center()});
}

void CloudCanvas::drawPoints(QImage& image, double ratio) const {
  const Map m = map();
  const double radius = ratio * radiusOf(x_.size()) * std::min(2.5, std::sqrt(window_.zoom));
  const Stamp usual(radius);
  const Stamp large(1.35 * radius);
  const auto put = [&](std::size_t i, const Stamp& stamp, int strength) {
    stamp.put(image, static_cast<int>(ratio * (m.left + m.scale * static_cast<double>(x_[i]))),
              static_cast<int>(ratio * (m.top - m.scale * static_cast<double>(y_[i]))), colours_[i],
              strength);
  };
  const int strength = chosen_.empty() ? kUsual : kPale;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    if (is_chosen_[i] == 0) put(i, usual, strength);
  }
  for (const int point : chosen_) put(static_cast<std::size_t>(point), large, 255);
}

void CloudCanvas::paintEvent(QPaintEvent*) {
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

}  // namespace lime::explorer
