// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/cloud_plottable.h"

#include <QImage>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace lime {
namespace {

/// Interleaves the classes; returns point indices, each class in its own order.
std::vector<std::size_t> taking_turns(const std::vector<int>& classes, std::size_t num_classes) {
  std::vector<std::size_t> seen(std::max<std::size_t>(1, num_classes), 0);
  std::vector<std::pair<std::size_t, std::size_t>> turns;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    turns.emplace_back(seen[static_cast<std::size_t>(classes[i])]++, i);
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> order;
  for (const auto& turn : turns) order.push_back(turn.second);
  return order;
}

QCPRange range_of(const std::vector<float>& values, bool& found) {
  found = !values.empty();
  if (!found) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {static_cast<double>(*low), static_cast<double>(*high)};
}

}  // namespace

CloudPlottable::CloudPlottable(QCPAxis* keys, QCPAxis* values, const CloudPanel& cloud,
                               CloudLook look)
    : QCPAbstractPlottable(keys, values),
      cloud_(cloud),
      look_(std::move(look)),
      order_(taking_turns(cloud_.classes, look_.colours.size())) {}

QCPRange CloudPlottable::getKeyRange(bool& found, QCP::SignDomain) const {
  return range_of(cloud_.x, found);
}

QCPRange CloudPlottable::getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const {
  return range_of(cloud_.y, found);
}

void CloudPlottable::draw(QCPPainter* painter) {
  if (look_.raster_dpi == 0) {
    draw_points(*painter);
    return;
  }
  const QRectF area = clipRect();
  const double scale = look_.raster_dpi / kUnitsPerInch;
  QImage image(static_cast<int>(std::ceil(area.width() * scale)),
               static_cast<int>(std::ceil(area.height() * scale)), QImage::Format_ARGB32);
  image.fill(Qt::transparent);
  QPainter points(&image);
  points.scale(scale, scale);
  points.translate(-area.topLeft());
  draw_points(points);
  points.end();
  painter->drawImage(QRectF(area.topLeft(), QSizeF(image.size()) / scale), image);
}

void CloudPlottable::draw_points(QPainter& painter) const {
  painter.setRenderHint(QPainter::Antialiasing, true);
  painter.setPen(Qt::NoPen);
  const double radius = look_.diameter / 2.0;
  for (const std::size_t i : order_) {
    painter.setBrush(look_.colours[static_cast<std::size_t>(cloud_.classes[i])]);
    painter.drawEllipse(
        coordsToPixels(static_cast<double>(cloud_.x[i]), static_cast<double>(cloud_.y[i])), radius,
        radius);
  }
}

}  // namespace lime
