// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QPointF>
#include <QRectF>
#include <QSize>
#include <cstddef>
#include <memory>
#include <optional>

#include "viz/figure.h"
#include "viz/figure_hit.h"
#include "viz/figure_style.h"

class QPaintDevice;

namespace lime {

/// What the axes of a panel show.
struct PanelRange {
  double x_low = 0.0;
  double x_high = 1.0;
  double y_low = 0.0;
  double y_high = 1.0;
  bool operator==(const PanelRange&) const = default;
};

/// A figure laid out for a screen: it can be painted again and again with other ranges of its axes,
/// and says what lies where. Lengths are tenths of a point. Needs a QApplication.
class FigureScene {
 public:
  /// @param figure        must outlive the scene.
  /// @param room          width and height that it may take.
  /// @param keeps_aspect  panels get the aspect that the figure asks for, as large as fits; else
  ///                      they fill the room.
  /// @throws InvalidArgument  as FigurePainter.
  FigureScene(const Figure& figure, const FigureStyle& style, const QSize& room, bool keeps_aspect);
  ~FigureScene();
  FigureScene(const FigureScene&) = delete;
  FigureScene& operator=(const FigureScene&) = delete;

  QSize size() const;
  QColor ground() const;

  /// False for tables, for which the functions below must not be called.
  bool has_axes(std::size_t panel) const;
  PanelRange range(std::size_t panel) const;
  void set_range(std::size_t panel, const PanelRange& range);
  /// The panel's axis area.
  QRectF area(std::size_t panel) const;
  /// A place of the scene on the panel's axes, and back.
  QPointF to_axes(std::size_t panel, const QPointF& place) const;
  QPointF to_scene(std::size_t panel, const QPointF& point) const;

  /// @param reach  see hit_at()
  std::optional<FigureHit> hit(const QPointF& place, double reach) const;

  /// Takes over the cells and marks of a map that were changed in the figure since.
  void refresh_map(std::size_t panel);

  /// Paints into `device`: first moved by `origin` of its pixels, then scaled.
  /// @param is_quick  with rough edges: for what moves
  void paint(QPaintDevice& device, const QPointF& origin, double scale, bool is_quick = false);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
