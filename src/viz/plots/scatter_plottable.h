// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include "viz/figure.h"
#include "viz/plots/plot_theme.h"

namespace lime {

/// Style of the points of a scatter plot.
struct ScatterStyle {
  double diameter = 0.0;        ///< units
  int raster_dpi = 0;           ///< rasterizes all points at this resolution; 0: vector graphics
  std::vector<QColor> colours;  ///< one per class
};

/// Scatter plot of points coloured by class. The classes are interleaved in drawing order, so that
/// none covers the others.
class ScatterPlottable : public QCPAbstractPlottable {
 public:
  ScatterPlottable(QCPAxis* keys, QCPAxis* values, const ScatterPanel& points, ScatterStyle style);

  double selectTest(const QPointF&, bool, QVariant*) const override { return -1.0; }
  QCPRange getKeyRange(bool& found, QCP::SignDomain) const override;
  QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override;

 protected:
  void draw(QCPPainter* painter) override;
  void drawLegendIcon(QCPPainter*, const QRectF&) const override {}

 private:
  void draw_points(QPainter& painter) const;

  ScatterPanel points_;
  ScatterStyle style_;
  std::vector<std::size_t> order_;
};

}  // namespace lime
