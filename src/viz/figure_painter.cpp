// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_painter.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/errors.h"
#include "viz/figure_layout.h"

namespace lime {
namespace {

int units_of_mm(double mm) { return static_cast<int>(std::lround(mm * kUnitsPerMm)); }

/// Settles `layout` at the height that its panels need, or at the page height if they stay
/// readable. @return the height, units
int settle_fitting(FigureLayout& layout, const FigureSize& sheet, const std::string& size) {
  const int wanted = layout.fitting_height();
  const int most = sheet.max_height_mm ? units_of_mm(*sheet.max_height_mm) : wanted;
  layout.settle(std::min(wanted, most));
  if (wanted <= most || layout.is_readable()) return std::min(wanted, most);
  throw InvalidArgument(
      "size: '{}' is {} mm high, the figure needs {:.0f} mm; show less (--by, --label, --layer), "
      "or set only a width, e.g. --size {}",
      size, *sheet.max_height_mm, wanted / kUnitsPerMm, sheet.width_mm);
}

}  // namespace

FigurePainter::FigurePainter(const Figure& figure, const FigureStyle& style)
    : plot_(std::make_unique<QCustomPlot>()) {
  style.validate();
  if (figure.panels.empty()) {
    throw InvalidArgument("figure: '{}' has no panels, expected at least one", figure.name);
  }
  const PlotTheme theme(style);
  const FigureSize wanted = figure_size(style, figure.is_wide);
  const int width = units_of_mm(wanted.width_mm);
  FigureLayout layout(*plot_, figure, theme, width);
  if (wanted.height_mm) layout.settle(units_of_mm(*wanted.height_mm));
  const int height = wanted.height_mm ? units_of_mm(*wanted.height_mm)
                                      : settle_fitting(layout, wanted, style.size);
  size_ = QSize(width, height);
}

FigurePainter::~FigurePainter() = default;

QSize FigurePainter::size_units() const { return size_; }

void FigurePainter::paint(QPaintDevice& device, double scale) {
  QCPPainter painter;
  if (!painter.begin(&device)) throw IoError("figure: cannot draw");
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  painter.scale(scale, scale);
  plot_->toPainter(&painter, size_.width(), size_.height());
  painter.end();
}

}  // namespace lime
