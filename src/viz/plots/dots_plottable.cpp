// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/dots_plottable.h"

#include <cmath>
#include <cstddef>

namespace lime {

void DotsPlottable::draw(QCPPainter* painter) {
  if (draws_stamps_) {
    draw_stamps(*painter);
    return;
  }
  painter->setRenderHint(QPainter::Antialiasing, true);
  painter->setPen(Qt::NoPen);
  painter->setBrush(colour_);
  const double radius = diameter_ / 2.0;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    painter->drawEllipse(coordsToPixels(x_[i], y_[i]), radius, radius);
  }
}

void DotsPlottable::make_stamps(double radius) {
  if (radius == stamp_radius_) return;
  stamp_radius_ = radius;
  const int reach = static_cast<int>(std::ceil(radius)) + 1;
  for (int phase = 0; phase < kPhases * kPhases; ++phase) {
    QImage stamp(2 * reach + 1, 2 * reach + 1, QImage::Format_ARGB32_Premultiplied);
    stamp.fill(Qt::transparent);
    QPainter painter(&stamp);
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour_);
    const double right = static_cast<double>(phase % kPhases) / kPhases;
    const double down = static_cast<double>(phase / kPhases) / kPhases;
    painter.drawEllipse(QPointF(reach + right, reach + down), radius, radius);
    painter.end();
    stamps_[static_cast<std::size_t>(phase)] = stamp;
  }
}

void DotsPlottable::draw_stamps(QCPPainter& painter) {
  const QTransform to_device = painter.worldTransform();
  make_stamps(to_device.m11() * diameter_ / 2.0);
  const int reach = (stamps_.front().width() - 1) / 2;
  const QRectF seen = to_device.mapRect(QRectF(clipRect())).adjusted(-reach, -reach, reach, reach) &
                      QRectF(painter.viewport());
  painter.save();
  painter.resetTransform();
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const QPointF at = to_device.map(coordsToPixels(x_[i], y_[i]));
    if (!seen.contains(at)) continue;
    // In quarters of a pixel.
    const auto right = static_cast<int>(std::floor(at.x() * kPhases + 0.5));
    const auto down = static_cast<int>(std::floor(at.y() * kPhases + 0.5));
    const int column = right / kPhases;  // within the device: not negative
    const int row = down / kPhases;
    const int phase = (down - row * kPhases) * kPhases + (right - column * kPhases);
    painter.drawImage(QPoint(column - reach, row - reach),
                      stamps_[static_cast<std::size_t>(phase)]);
  }
  painter.restore();
}

}  // namespace lime
