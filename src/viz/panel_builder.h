// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include "viz/figure.h"
#include "viz/map_plottable.h"
#include "viz/plot_theme.h"

namespace lime {

/// What a panel is drawn into.
struct PanelPlace {
  QCustomPlot* plot = nullptr;
  QCPAxisRect* rect = nullptr;
  const PlotTheme* theme = nullptr;
  std::size_t num_classes = 1;  ///< of the figure's legend
  MapScale scale;               ///< of the figure's maps

  QCPAxis* x() const { return rect->axis(QCPAxis::atBottom); }
  QCPAxis* y() const { return rect->axis(QCPAxis::atLeft); }
};

void add_curves(const PanelPlace& place, const CurvePanel& panel);
void add_map(const PanelPlace& place, const MapPanel& panel);
void add_cloud(const PanelPlace& place, const CloudPanel& panel);
void add_bars(const PanelPlace& place, const BarPanel& panel);

/// Fonts, pens, ranges and ticks of the panel's two axes. Call it after the content was added.
void dress_axes(const PanelPlace& place, const FigurePanel& panel);

}  // namespace lime
