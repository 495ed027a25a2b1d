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
  /// @throws InvalidArgument  if the font is not installed, or the palette does not suit the
  ///         figure.
  FigurePainter(const Figure& figure, const FigureStyle& style);
  ~FigurePainter();
  FigurePainter(const FigurePainter&) = delete;
  FigurePainter& operator=(const FigurePainter&) = delete;

  /// Returns width and height in tenths of a point, the unit of paint().
  QSize size_units() const;

  /// Draws the figure into [0, width] x [0, height] of `device`; `scale` is device units per tenth
  /// of a point.
  void paint(QPaintDevice& device, double scale);

 private:
  std::unique_ptr<QCustomPlot> plot_;
  QSize size_;
};

}  // namespace lime
