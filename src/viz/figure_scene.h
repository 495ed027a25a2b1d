// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QPointF>
#include <QRectF>
#include <QSize>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "viz/figure.h"
#include "viz/figure_hit.h"
#include "viz/figure_style.h"

class QCustomPlot;

class QPaintDevice;

namespace lime {

struct PanelRange {
  double x_low = 0.0;
  double x_high = 1.0;
  double y_low = 0.0;
  double y_high = 1.0;
  bool operator==(const PanelRange&) const = default;
};

/// A figure laid out with QCustomPlot. It can be repainted with other axis ranges and supports hit
/// tests. Lengths are tenths of a point. Needs a QApplication.
class FigureScene {
 public:
  /// Lays out for a file, at the size of `style`. @param figure  must outlive the scene.
  /// @throws InvalidArgument  if the font is missing or the palette unsuitable.
  FigureScene(const Figure& figure, const FigureStyle& style);
  /// Lays out for the screen.
  /// @param figure        must outlive the scene.
  /// @param room          available width and height.
  /// @param keeps_aspect  panels keep the figure's aspect; otherwise they fill the room.
  FigureScene(const Figure& figure, const FigureStyle& style, const QSize& room, bool keeps_aspect);
  ~FigureScene();

  QSize size() const;
  QColor ground() const;

  /// Returns false for tables, for which the functions below must not be called.
  bool has_axes(std::size_t panel) const;
  PanelRange range(std::size_t panel) const;
  void set_range(std::size_t panel, const PanelRange& range);
  QRectF area(std::size_t panel) const;
  /// Converts between scene coordinates and the panel's axes.
  QPointF to_axes(std::size_t panel, const QPointF& place) const;
  QPointF to_scene(std::size_t panel, const QPointF& point) const;

  /// Returns the element at `place`, or nothing outside the panels' axis areas.
  /// @param reach  maximum distance of a hit from a point.
  std::optional<FigureHit> hit(const QPointF& place, double reach) const;

  /// Returns the label of the legend's entry at `place`; empty beside all entries.
  std::string legend_label(const QPointF& place) const;

  /// Updates the cells and marks of a heatmap after they changed in the figure.
  void refresh_map(std::size_t panel);

  /// Paints into `device`, translated by `origin` in its pixels, then scaled.
  /// @param is_quick  without antialiasing, for animations
  void paint(QPaintDevice& device, const QPointF& origin, double scale, bool is_quick = false);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
