// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>
#include <qrgb.h>

#include <QColor>
#include <QFont>
#include <QImage>
#include <QRectF>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "viz/colour.h"
#include "viz/figure.h"
#include "viz/plots/fixed_plottable.h"

namespace lime {

/// Maps the numbers of a heatmap to colours.
struct HeatmapScale {
  HeatmapPalette palette = HeatmapPalette::kViridis;
  double low = 0.0;
  double high = 1.0;
  bool is_logarithmic = false;  ///< low > 0

  /// Returns the place of a value between low and high, in [0, 1] if it is between them.
  double place(double value) const;
  /// Returns the value at a place.
  double value(double place) const;
  /// @param value  finite.
  Colour colour(double value) const;
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

}  // namespace lime
