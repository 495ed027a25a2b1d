// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/scatter_plottable.h"

#include <QImage>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace lime {
namespace {

/// Interleaves the classes; returns point indices, each class in its own order.
std::vector<std::size_t> interleave_classes(const std::vector<int>& classes,
                                            std::size_t num_classes) {
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

ScatterPlottable::ScatterPlottable(QCPAxis* keys, QCPAxis* values, const ScatterPanel& points,
                                   ScatterStyle style)
    : QCPAbstractPlottable(keys, values),
      points_(points),
      style_(std::move(style)),
      order_(interleave_classes(points_.classes, style_.colours.size())) {}

QCPRange ScatterPlottable::getKeyRange(bool& found, QCP::SignDomain) const {
  return range_of(points_.x, found);
}

QCPRange ScatterPlottable::getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const {
  return range_of(points_.y, found);
}

void ScatterPlottable::draw(QCPPainter* painter) {
  if (style_.raster_dpi == 0) {
    draw_points(*painter);
    return;
  }
  const QRectF area = clipRect();
  const double scale = style_.raster_dpi / kUnitsPerInch;
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

void ScatterPlottable::draw_points(QPainter& painter) const {
  painter.setRenderHint(QPainter::Antialiasing, true);
  painter.setPen(Qt::NoPen);
  const double radius = style_.diameter / 2.0;
  for (const std::size_t i : order_) {
    painter.setBrush(style_.colours[static_cast<std::size_t>(points_.classes[i])]);
    painter.drawEllipse(
        coordsToPixels(static_cast<double>(points_.x[i]), static_cast<double>(points_.y[i])),
        radius, radius);
  }
}

}  // namespace lime
