// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_hit.h"

#include <cmath>

#include "viz/figure_layout.h"

namespace lime {
namespace {

/// Finds the nearest of the points passed to it, in units.
class NearestPoint {
 public:
  NearestPoint(const QCPAxisRect& rect, const QPointF& position, double reach)
      : x_(*rect.axis(QCPAxis::atBottom)),
        y_(*rect.axis(QCPAxis::atLeft)),
        position_(position),
        best_(reach * reach) {}

  void offer(double x, double y, FigureHit::Point point) {
    if (!std::isfinite(x) || !std::isfinite(y)) return;
    const double dx = x_.coordToPixel(x) - position_.x();
    const double dy = y_.coordToPixel(y) - position_.y();
    const double distance = dx * dx + dy * dy;
    if (!(distance <= best_)) return;
    best_ = distance;
    found_ = point;
  }
  std::optional<FigureHit::Point> found() const { return found_; }

 private:
  const QCPAxis& x_;
  const QCPAxis& y_;
  QPointF position_;
  double best_;
  std::optional<FigureHit::Point> found_;
};

std::optional<FigureHit::Cell> cell_at(const HeatmapPanel& map, double x, double y) {
  const double col = std::round(x);
  const double row = std::round(y);
  if (!(row >= 0.0 && row < static_cast<double>(map.values.rows()) && col >= 0.0 &&
        col < static_cast<double>(map.values.cols()))) {
    return std::nullopt;
  }
  const FigureHit::Cell cell{static_cast<int>(row), static_cast<int>(col)};
  if (!std::isfinite(map.values(cell.row, cell.col))) return std::nullopt;
  return cell;
}

/// Returns the bar whose group and offset within the group match `y`, as drawn by add_bars().
std::optional<FigureHit::Point> bar_at(const BarPanel& bars, double y) {
  if (bars.groups.empty() || bars.series.empty()) return std::nullopt;
  const auto groups = static_cast<double>(bars.groups.size());
  const auto count = static_cast<double>(bars.series.size());
  const double group = std::round(groups - 1.0 - y);
  const double series = (groups - 1.0 - group - y) / (0.8 / count) + (count - 1.0) / 2.0;
  if (!(group >= 0.0 && group < groups && series > -0.5 && series < count - 0.5)) {
    return std::nullopt;
  }
  return FigureHit::Point{static_cast<std::size_t>(std::lround(series)),
                          static_cast<std::size_t>(group)};
}

}  // namespace

std::optional<FigureHit> hit_at(const FigureLayout& layout, const Figure& figure,
                                const QPointF& position, double reach) {
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const QCPAxisRect* const rect = layout.axes_of(i);
    if (rect == nullptr || !rect->rect().contains(position.toPoint())) continue;
    FigureHit hit;
    hit.panel = i;
    hit.x = rect->axis(QCPAxis::atBottom)->pixelToCoord(position.x());
    hit.y = rect->axis(QCPAxis::atLeft)->pixelToCoord(position.y());
    NearestPoint nearest(*rect, position, reach);
    const auto& content = figure.panels[i].content;
    if (const auto* const map = std::get_if<HeatmapPanel>(&content)) {
      hit.cell = cell_at(*map, hit.x, hit.y);
    } else if (const auto* const curves = std::get_if<CurvePanel>(&content)) {
      for (std::size_t c = 0; c < curves->curves.size(); ++c) {
        const Curve& curve = curves->curves[c];
        for (std::size_t p = 0; p < curve.x.size(); ++p) {
          nearest.offer(curve.x[p], curve.y[p], {c, p});
        }
      }
      hit.point = nearest.found();
    } else if (const auto* const points = std::get_if<ScatterPanel>(&content)) {
      for (std::size_t p = 0; p < points->x.size(); ++p) {
        nearest.offer(static_cast<double>(points->x[p]), static_cast<double>(points->y[p]), {0, p});
      }
      hit.point = nearest.found();
    } else if (const auto* const bars = std::get_if<BarPanel>(&content)) {
      hit.point = bar_at(*bars, hit.y);
    }
    return hit;
  }
  return std::nullopt;
}

}  // namespace lime
