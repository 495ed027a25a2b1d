// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/range_plottable.h"

#include <QFontMetricsF>

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

void RangePlottable::draw_name(QCPPainter& painter, const QRectF& area) const {
  const QFontMetricsF metrics(font_);
  const double height = metrics.height();
  const QString name = QString::fromStdString(range_.label);
  QColor ink = ink_;
  ink.setAlphaF(kNameAlpha);
  painter.save();
  painter.setFont(font_);
  painter.setPen(ink);
  // Names of ranges are at the bottom, that of a line above them: a bound is often at the top.
  if (!range_.is_line() && metrics.horizontalAdvance(name) + units(2.0) <= area.width()) {
    painter.drawText(area.adjusted(0.0, 0.0, 0.0, -units(1.5)), Qt::AlignHCenter | Qt::AlignBottom,
                     name);
  } else if (range_.is_line() || height <= area.width()) {
    const double bottom = area.bottom() - (range_.is_line() ? (1.0 - kMax) * area.height() : 0.0);
    const double room = kMax * area.height() - units(3.0);
    painter.translate(range_.is_line() ? area.left() - height : area.center().x() - 0.5 * height,
                      bottom - units(1.5));
    painter.rotate(-90.0);
    painter.drawText(QRectF(0.0, 0.0, room, height), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(name, Qt::ElideRight, room));
  }
  painter.restore();
}

}  // namespace lime
