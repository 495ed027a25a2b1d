// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <QImage>
#include <array>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "viz/figure.h"
#include "viz/figure_style.h"
#include "viz/plots/plot_theme.h"

namespace lime {

/// Maps the numbers of a heatmap to colours.
struct HeatmapScale {
  HeatmapPalette palette = HeatmapPalette::kViridis;
  double low = 0.0;
  double high = 1.0;

  /// @param value  finite.
  Colour colour(double value) const;
};

/// A plottable that is drawn in given ranges, without selection and legend icon.
class FixedPlottable : public QCPAbstractPlottable {
 public:
  using QCPAbstractPlottable::QCPAbstractPlottable;
  double selectTest(const QPointF&, bool, QVariant*) const override { return -1.0; }
  QCPRange getKeyRange(bool& found, QCP::SignDomain) const override { return no_range(found); }
  QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override {
    return no_range(found);
  }

 protected:
  void drawLegendIcon(QCPPainter*, const QRectF&) const override {}

 private:
  static QCPRange no_range(bool& found) {
    found = false;
    return {};
  }
};

/// Heatmap: value [r, c] fills [c - 0.5, c + 0.5] x [r - 0.5, r + 0.5]. Cells are vector graphics,
/// so that prints show no seams or blur; a large number of cells becomes one image with a pixel
/// each. A screen pixel with several cells shows the largest magnitude; NaN is empty.
class HeatmapPlottable : public FixedPlottable {
 public:
  HeatmapPlottable(QCPAxis* keys, QCPAxis* values, HeatmapPanel panel, HeatmapScale scale,
                   QFont number_font)
      : FixedPlottable(keys, values),
        panel_(std::move(panel)),
        scale_(scale),
        number_font_(std::move(number_font)) {}

  /// @param panel  same number of cells as before
  void set_panel(const HeatmapPanel& panel) {
    panel_ = panel;
    image_ = QImage();
  }
  /// Always draws one image: for the screen, which is redrawn often.
  void rasterize() { is_rasterized_ = true; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  QRectF cell_rect(Eigen::Index row, Eigen::Index col) const;
  QRectF all_cells() const;
  void draw_cells(QCPPainter* painter) const;
  /// Draws an image of a pixel per cell.
  QImage image_of(const MatrixD& cells);
  /// Returns a cell for each pixel of the painter where several cells share one: the value of
  /// largest magnitude, so that none is missed. Empty if cells are larger than pixels.
  MatrixD cells_of_pixels(const QCPPainter& painter) const;
  void draw_numbers(QCPPainter* painter) const;
  void draw_marks(QCPPainter* painter) const;
  /// Returns a text colour that is readable on a cell of this value.
  QColor ink_on(double value) const;

  HeatmapPanel panel_;
  HeatmapScale scale_;
  QFont number_font_;
  bool is_rasterized_ = false;
  QImage image_;               ///< created when first drawn
  std::vector<QRgb> colours_;  ///< of the scale from low to high; likewise
};

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
