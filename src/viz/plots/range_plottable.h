// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "viz/figure.h"
#include "viz/plots/fixed_plottable.h"
#include "viz/plots/plot_theme.h"

namespace lime {

/// A range of x across the panel, or a dashed line, with its name: upright if it does not fit
/// between the ends, and where no curve crosses it, if there is room.
class RangePlottable : public FixedPlottable {
 public:
  RangePlottable(QCPAxis* keys, QCPAxis* values, RangeMark range, std::vector<Curve> curves,
                 const PlotTheme& theme)
      : FixedPlottable(keys, values),
        range_(std::move(range)),
        curves_(std::move(curves)),
        font_(theme.tick_font()),
        colour_(theme.muted()),
        ink_(theme.ink()) {}

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void draw_name(QCPPainter& painter, const QRectF& area) const;
  /// Returns a part of a strip that no curve or band crosses, from top to bottom: the lowest one of
  /// at least `height`, else the highest.
  QRectF free_part(const QRectF& strip, double height) const;

  RangeMark range_;
  std::vector<Curve> curves_;  // that the name should not cross
  QFont font_;
  QColor colour_;
  QColor ink_;
};

}  // namespace lime
