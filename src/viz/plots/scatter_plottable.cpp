// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/scatter_plottable.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viz/plots/plot_theme.h"

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
  std::ranges::sort(turns);
  std::vector<std::size_t> order;
  for (const auto& turn : turns) order.push_back(turn.second);
  return order;
}

}  // namespace

ScatterPlottable::ScatterPlottable(QCPAxis* keys, QCPAxis* values, ScatterPanel points,
                                   ScatterStyle style)
    : FixedPlottable(keys, values),
      points_(std::move(points)),
      style_(std::move(style)),
      order_(interleave_classes(points_.classes, style_.colours.size())) {}

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
  for (const std::size_t i : order_) {
    const auto c = static_cast<std::size_t>(points_.classes[i]);
    const auto x = static_cast<double>(points_.x[i]);
    const auto y = static_cast<double>(points_.y[i]);
    painter.setBrush(style_.colours[c]);
    painter.drawPath(style_.markers[c].translated(coordsToPixels(x, y)));
  }
}

}  // namespace lime
