// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <QImage>
#include <array>
#include <vector>

namespace lime {

/// Many equal discs, e.g. the buffered heads of a flow diagram.
///
/// Files contain a circle for each. On screen, which is redrawn often, copies of a small pixmap are
/// placed with quarter-pixel accuracy: ten times as fast, with no visible difference.
class DotsPlottable : public QCPAbstractPlottable {
 public:
  /// @param x, y      [num_dots], in axis coordinates.
  /// @param diameter  units.
  DotsPlottable(QCPAxis* keys, QCPAxis* values, std::vector<double> x, std::vector<double> y,
                double diameter);

  void set_colour(const QColor& colour) { colour_ = colour; }
  void draw_as_stamps() { draws_stamps_ = true; }

  double selectTest(const QPointF&, bool, QVariant*) const override { return -1.0; }
  QCPRange getKeyRange(bool& found, QCP::SignDomain) const override;
  QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override;

 protected:
  void draw(QCPPainter* painter) override;
  void drawLegendIcon(QCPPainter*, const QRectF&) const override {}

 private:
  static constexpr int kPhases = 4;  // quarter-pixel offsets along each axis

  void draw_stamps(QCPPainter& painter);
  void make_stamps(double radius);

  std::vector<double> x_;
  std::vector<double> y_;
  double diameter_;
  QColor colour_ = Qt::black;
  bool draws_stamps_ = false;
  double stamp_radius_ = -1.0;                    ///< pixels
  std::array<QImage, kPhases * kPhases> stamps_;  ///< by phase along y, then x
};

}  // namespace lime
