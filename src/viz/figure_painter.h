// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPainter>
#include <QSize>
#include <memory>

#include "viz/figure.h"
#include "viz/figure_style.h"

class QCustomPlot;

namespace lime {

/// Lays a figure out with QCustomPlot and draws it. Needs a QApplication.
class FigurePainter {
 public:
  /// @throws InvalidArgument  if the style's font is not installed, or its palette does not fit.
  FigurePainter(const Figure& figure, const FigureStyle& style);
  ~FigurePainter();
  FigurePainter(const FigurePainter&) = delete;
  FigurePainter& operator=(const FigurePainter&) = delete;

  /// Width and height in tenths of a point, the unit that paint() draws in.
  QSize size_units() const;

  /// Draws the figure into [0, width] x [0, height] of `device`, on which `painter.scale` was
  /// called so that one unit is a tenth of a point.
  void paint(QPaintDevice& device, double scale);

 private:
  std::unique_ptr<QCustomPlot> plot_;
  QSize size_;
};

}  // namespace lime
