// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/figure.h"
#include "viz/plots/fixed_plottable.h"
#include "viz/plots/plot_theme.h"

namespace lime {

/// A range of x across the panel, or a dashed line, with its name: upright if it does not fit
/// between the ends.
class RangePlottable : public FixedPlottable {
 public:
  RangePlottable(QCPAxis* keys, QCPAxis* values, RangeMark range, const PlotTheme& theme)
      : FixedPlottable(keys, values),
        range_(std::move(range)),
        font_(theme.tick_font()),
        colour_(theme.muted()),
        ink_(theme.ink()) {}

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void draw_name(QCPPainter& painter, const QRectF& area) const;

  RangeMark range_;
  QFont font_;
  QColor colour_;
  QColor ink_;
};

}  // namespace lime
