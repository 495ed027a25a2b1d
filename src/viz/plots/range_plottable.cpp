// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/range_plottable.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <utility>

namespace lime {
namespace {

constexpr float kFillAlpha = 0.13F;
constexpr float kNameAlpha = 0.75F;
constexpr double kMax = 0.85;  // part of the panel's height that an upright name uses

}  // namespace

void RangePlottable::draw(QCPPainter* painter) {
  const QRectF panel(keyAxis()->axisRect()->rect());
  QRectF area = panel;
  area.setLeft(keyAxis()->coordToPixel(range_.low));
  area.setRight(keyAxis()->coordToPixel(range_.high));
  if (range_.is_line()) {
    painter->setPen(QPen(colour_, units(0.8), Qt::DashLine, Qt::FlatCap));
    painter->drawLine(area.topLeft(), area.bottomLeft());
  } else {
    QColor fill = colour_;
    fill.setAlphaF(kFillAlpha);
    area = area.adjusted(units(0.3), 0.0, -units(0.3), 0.0);  // a gap to the next one
    painter->fillRect(area, fill);
  }
  draw_name(*painter, area);
}

QRectF RangePlottable::free_part(const QRectF& strip, double height) const {
  std::vector<std::pair<double, double>> taken;  // of y in pixels
  const double margin = units(1.5);
  for (const Curve& curve : curves_) {
    double top = strip.bottom();
    double bottom = strip.top();
    for (const std::vector<double>* const y : {&curve.y, &curve.low, &curve.high}) {
      for (std::size_t i = 0; i + 1 < std::min(curve.x.size(), y->size()); ++i) {
        const auto at = [&](std::size_t point) {
          return QPointF(keyAxis()->coordToPixel(curve.x[point]),
                         valueAxis()->coordToPixel((*y)[point]));
        };
        const QPointF a = at(i), b = at(i + 1);
        const bool is_known = std::isfinite(a.y()) && std::isfinite(b.y()) && a.x() < b.x();
        if (!is_known || b.x() < strip.left() || a.x() > strip.right()) continue;
        for (const double edge : {std::max(a.x(), strip.left()), std::min(b.x(), strip.right())}) {
          const double crossing = a.y() + (b.y() - a.y()) * (edge - a.x()) / (b.x() - a.x());
          top = std::min(top, crossing);
          bottom = std::max(bottom, crossing);
        }
      }
    }
    if (top <= bottom) taken.emplace_back(top - margin, bottom + margin);
  }
  std::ranges::sort(taken);
  QRectF best(strip.left(), strip.top(), strip.width(), 0.0);
  double free_from = strip.top();
  taken.emplace_back(strip.bottom(), strip.bottom());
  for (const auto& [top, bottom] : taken) {
    const double room = std::min(top, strip.bottom()) - free_from;
    // A lower part that suffices is preferred.
    if (room >= height || room > best.height()) {
      best = QRectF(strip.left(), free_from, strip.width(), room);
    }
    free_from = std::max(free_from, bottom);
  }
  return best.height() >= std::min(height, 0.3 * strip.height()) ? best : strip;
}

void RangePlottable::draw_name(QCPPainter& painter, const QRectF& area) const {
  const QFontMetricsF metrics(font_);
  const double height = metrics.height();
  const QString name = QString::fromStdString(range_.label);
  QColor ink = ink_;
  ink.setAlphaF(kNameAlpha);
  painter.save();
  painter.setFont(font_);
  painter.setPen(ink);
  const double advance = metrics.horizontalAdvance(name);
  // Names of ranges are at the bottom, that of a line above them: a bound is often at the top.
  if (!range_.is_line() && advance + units(2.0) <= area.width()) {
    QRectF strip = area.adjusted(0.0, units(1.5), 0.0, -units(1.5));
    strip.setLeft(area.center().x() - 0.5 * advance);
    strip.setWidth(advance);
    painter.drawText(free_part(strip, height), Qt::AlignHCenter | Qt::AlignBottom, name);
  } else if (range_.is_line() || height <= area.width()) {
    const double bottom = area.bottom() - (range_.is_line() ? (1.0 - kMax) * area.height() : 0.0);
    const double left = range_.is_line() ? area.left() - height : area.center().x() - 0.5 * height;
    const QRectF strip(QPointF(left, area.top() + units(1.5)),
                       QPointF(left + height, bottom - units(1.5)));
    const QRectF part = free_part(strip, advance + units(3.0));
    const double room = std::min(part.height(), kMax * area.height() - units(3.0));
    painter.translate(left, part.bottom());
    painter.rotate(-90.0);
    painter.drawText(QRectF(0.0, 0.0, room, height), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(name, Qt::ElideRight, room));
  }
  painter.restore();
}

}  // namespace lime
