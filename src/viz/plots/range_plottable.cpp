// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/range_plottable.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace lime {
namespace {

constexpr float kFillAlpha = 0.13F;
constexpr float kNameAlpha = 0.75F;

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

std::optional<double> RangePlottable::free_top(const QRectF& strip, double height) const {
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
  std::optional<double> found;
  double free_from = strip.top();
  taken.emplace_back(strip.bottom(), strip.bottom());
  for (const auto& [top, bottom] : taken) {
    const double end = std::min(top, strip.bottom());
    if (end - free_from >= height) found = end - height;
    free_from = std::max(free_from, bottom);
  }
  return found;
}

bool RangePlottable::draw_text(QCPPainter& painter, const QString& text, double left,
                               double width) const {
  const QRectF panel(keyAxis()->axisRect()->rect());
  if (left < panel.left() || left + width > panel.right()) return false;
  const double height = QFontMetricsF(font_).height();
  const double margin = units(1.5);
  QRectF strip(left, panel.top() + margin, width, panel.height() - 2.0 * margin);
  // The label of a line is above those of ranges.
  if (range_.is_line()) strip.setBottom(strip.bottom() - 1.5 * height);
  const std::optional<double> top = free_top(strip, height);
  if (!top) return false;
  painter.drawText(QRectF(left, *top, width, height), Qt::AlignCenter, text);
  return true;
}

void RangePlottable::draw_name(QCPPainter& painter, const QRectF& area) const {
  const QFontMetricsF metrics(font_);
  const double gap = units(1.5);
  QColor ink = ink_;
  ink.setAlphaF(kNameAlpha);
  painter.save();
  painter.setFont(font_);
  painter.setPen(ink);
  const QString label = QString::fromStdString(range_.label);
  const QString whole = QString::fromStdString(range_.whole_label());
  const double width = metrics.horizontalAdvance(label) + gap;
  const double whole_width = metrics.horizontalAdvance(whole) + gap;
  if (range_.is_line()) {
    if (!draw_text(painter, label, area.left() - gap - width, width)) {
      draw_text(painter, label, area.left() + gap, width);
    }
  } else {
    const double centre = area.center().x();
    const bool is_whole = !range_.name.empty() && whole_width <= area.width() &&
                          draw_text(painter, whole, centre - 0.5 * whole_width, whole_width);
    if (!is_whole) draw_text(painter, label, centre - 0.5 * width, width);
  }
  painter.restore();
}

}  // namespace lime
