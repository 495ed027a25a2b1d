// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_layout.h"
#include "viz/plots/axis_ticker.h"

namespace lime {
namespace {

constexpr int kSteps = 128;

void style_axis(QCPAxis& axis, const std::string& label, const PlotTheme& theme) {
  axis.setVisible(true);
  axis.grid()->setVisible(false);
  axis.setTicker(QSharedPointer<QCPAxisTicker>(new EvenTicker));
  axis.setTickLabels(true);
  axis.setTickLabelFont(theme.tick_font());
  axis.setTickLabelColor(theme.ink());
  axis.setLabel(QString::fromStdString(label));
  axis.setLabelFont(theme.label_font());
  axis.setLabelColor(theme.ink());
  axis.setBasePen(theme.axis_pen());
  axis.setTickPen(theme.axis_pen());
  axis.setSubTicks(false);
  axis.setTickLength(0, units(2));
  axis.setTickLabelPadding(units(2));
  axis.setLabelPadding(units(3));
}

}  // namespace

QCPAxisRect* new_colour_bar(QCustomPlot* plot, const HeatmapScale& scale, const std::string& label,
                            const PlotTheme& theme) {
  // A heatmap with one column.
  QCPAxisRect* const rect = new_axis_rect(plot);
  QCPAxis* const values = rect->axis(QCPAxis::atRight);
  QCPAxis* const steps = rect->axis(QCPAxis::atLeft);
  QCPAxis* const across = rect->axis(QCPAxis::atBottom);
  MatrixD ramp(kSteps, 1);
  for (int i = 0; i < kSteps; ++i) {
    ramp(i, 0) = scale.low + (scale.high - scale.low) * (i + 0.5) / kSteps;
  }
  new HeatmapPlottable(across, steps, ramp, scale);
  across->setRange(-0.5, 0.5);
  steps->setRange(-0.5, kSteps - 0.5);
  for (QCPAxis* const axis : {across, steps}) {
    axis->setVisible(false);
    axis->grid()->setVisible(false);
  }
  style_axis(*values, label, theme);
  values->setRange(scale.low, scale.high);
  rect->setSizeConstraintRect(QCPLayoutElement::scrInnerRect);
  rect->setMinimumSize(units(7), 0);
  rect->setMaximumSize(units(7), QWIDGETSIZE_MAX);
  return rect;
}

}  // namespace lime
