// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include "viz/figure.h"
#include "viz/plot_theme.h"

namespace lime {

/// How the points of a cloud are drawn.
struct CloudLook {
  double diameter = 0.0;  ///< units
  int raster_dpi = 0;     ///< draws one picture of so many dots per inch; 0: each point by itself
  std::vector<QColor> colours;  ///< one per class
};

/// Points in the plane, coloured by class, in an order that lets no class cover the others: they
/// take turns.
class CloudPlottable : public QCPAbstractPlottable {
 public:
  CloudPlottable(QCPAxis* keys, QCPAxis* values, const CloudPanel& cloud, CloudLook look);

  double selectTest(const QPointF&, bool, QVariant*) const override { return -1.0; }
  QCPRange getKeyRange(bool& found, QCP::SignDomain) const override;
  QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override;

 protected:
  void draw(QCPPainter* painter) override;
  void drawLegendIcon(QCPPainter*, const QRectF&) const override {}

 private:
  void draw_points(QPainter& painter) const;

  CloudPanel cloud_;
  CloudLook look_;
  std::vector<std::size_t> order_;
};

}  // namespace lime
