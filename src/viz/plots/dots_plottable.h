// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <QColor>
#include <QImage>
#include <array>
#include <utility>
#include <vector>

#include "viz/plots/fixed_plottable.h"

namespace lime {

/// Many equal discs, e.g. the buffered heads of a flow diagram.
///
/// Files contain a circle for each. On screen, which is redrawn often, copies of a small pixmap are
/// placed with quarter-pixel accuracy: ten times as fast, with no visible difference.
class DotsPlottable : public FixedPlottable {
 public:
  /// @param x, y      [num_dots], in axis coordinates.
  /// @param diameter  units.
  DotsPlottable(QCPAxis* keys, QCPAxis* values, std::vector<double> x, std::vector<double> y,
                double diameter, const QColor& colour)
      : FixedPlottable(keys, values),
        x_(std::move(x)),
        y_(std::move(y)),
        diameter_(diameter),
        colour_(colour) {}

  void draw_as_stamps() { draws_stamps_ = true; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  static constexpr int kPhases = 4;  // quarter-pixel offsets along each axis

  void draw_stamps(QCPPainter& painter);
  void make_stamps(double radius);

  std::vector<double> x_;
  std::vector<double> y_;
  double diameter_;
  QColor colour_;
  bool draws_stamps_ = false;
  double stamp_radius_ = -1.0;                    ///< pixels
  std::array<QImage, kPhases * kPhases> stamps_;  ///< by phase along y, then x
};

}  // namespace lime
