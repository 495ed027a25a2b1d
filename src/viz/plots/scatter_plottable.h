// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <QPainterPath>
#include <cstddef>
#include <vector>

#include "viz/figure.h"
#include "viz/plots/fixed_plottable.h"

class QPainter;

namespace lime {

struct ScatterStyle {
  double diameter = 0.0;        ///< units
  int raster_dpi = 0;           ///< rasterizes all points at this resolution; 0: vector graphics
  std::vector<QColor> colours;  ///< one per class
  std::vector<QPainterPath> markers;  ///< likewise
};

/// Scatter plot of points coloured by class. Classes are interleaved: none covers the others.
class ScatterPlottable : public FixedPlottable {
 public:
  ScatterPlottable(QCPAxis* keys, QCPAxis* values, ScatterPanel points, ScatterStyle style);

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void draw_points(QPainter& painter) const;

  ScatterPanel points_;
  ScatterStyle style_;
  std::vector<std::size_t> order_;
};

}  // namespace lime
