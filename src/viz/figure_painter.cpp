// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_painter.h"

#include <qcustomplot.h>

#include <cmath>
#include <memory>

#include "core/errors.h"
#include "viz/figure_layout.h"

namespace lime {

FigurePainter::FigurePainter(const Figure& figure, const FigureStyle& style)
    : plot_(std::make_unique<QCustomPlot>()) {
  style.validate();
  if (figure.panels.empty()) {
    throw InvalidArgument("figure: must have a panel, '{}' has none", figure.name);
  }
  const PlotTheme theme(style);
  const FigureSize wanted = figure_size(style, figure.is_wide);
  const int width = static_cast<int>(std::lround(wanted.width_mm * kUnitsPerMm));
  FigureLayout layout(*plot_, figure, theme, width);
  const int height = wanted.height_mm
                         ? static_cast<int>(std::lround(*wanted.height_mm * kUnitsPerMm))
                         : layout.fitting_height();
  layout.settle(height);
  size_ = QSize(width, height);
}

FigurePainter::~FigurePainter() = default;

QSize FigurePainter::size_units() const { return size_; }

void FigurePainter::paint(QPaintDevice& device, double scale) {
  QCPPainter painter;
  if (!painter.begin(&device)) throw IoError("figure: cannot be drawn");
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  painter.scale(scale, scale);
  plot_->toPainter(&painter, size_.width(), size_.height());
  painter.end();
}

}  // namespace lime
