// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QFont>
#include <QRectF>
#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "viz/figure.h"
#include "viz/plots/fixed_plottable.h"
#include "viz/plots/plot_theme.h"

namespace lime {

/// A range of x across the panel, or a dashed line, with its label, and its name if it fits between
/// the ends: where no curve crosses them.
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
  /// Draws a text of some width in the strip whose left end is `left`. @return false without room
  bool draw_text(QCPPainter& painter, const QString& text, double left, double width) const;
  /// Returns the top of the lowest part of a strip, of at least `height`, that no curve or band
  /// crosses; no value if there is none.
  std::optional<double> free_top(const QRectF& strip, double height) const;

  RangeMark range_;
  std::vector<Curve> curves_;  // that the name should not cross
  QFont font_;
  QColor colour_;
  QColor ink_;
};

}  // namespace lime
