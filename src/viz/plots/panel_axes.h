// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include <QChar>
#include <QString>
#include <QVector>
#include <cstddef>
#include <string>

#include "viz/figure.h"
#include "viz/plots/heatmap_plottable.h"
#include "viz/plots/plot_theme.h"

class QLocale;

namespace lime {

/// Places ticks at round numbers and labels all of them with the decimals that the step needs: 2.50
/// next to 2.75. Large and tiny numbers keep the axis' own format.
class EvenTicker : public QCPAxisTicker {
 public:
  EvenTicker();

 protected:
  double getTickStep(const QCPRange& range) override;
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  double step_ = 1.0;
};

/// Ticks of a logarithmic axis: evenly spaced if it spans less than half a decade; 1, 2, 5, 10, ...
/// up to three decades; powers of ten beyond. Ranges within 0.001 to 99,999 use decimal notation;
/// others keep the axis' own format, powers of 10.
class LogTicker : public EvenTicker {
 protected:
  QVector<double> createTickVector(double step, const QCPRange& range) override;
  QString getTickLabel(double tick, const QLocale& locale, QChar format, int precision) override;

 private:
  bool is_even_ = false;
  bool is_plain_ = true;
};

struct PanelPlace {
  QCustomPlot* plot = nullptr;
  QCPAxisRect* rect = nullptr;
  const PlotTheme* theme = nullptr;
  std::size_t num_classes = 1;  ///< of the figure's legend
  HeatmapScale scale;           ///< of the figure's heatmaps

  QCPAxis* x() const { return rect->axis(QCPAxis::atBottom); }
  QCPAxis* y() const { return rect->axis(QCPAxis::atLeft); }
};

/// Sets fonts, pens, ranges and ticks of the panel's two axes. Call after adding the content.
void style_axes(const PanelPlace& place, const FigurePanel& panel);

/// Creates an axis area without upper and right axes, in the layers that figures use.
QCPAxisRect* new_axis_rect(QCustomPlot* plot);

/// Creates a colour bar for `scale`, labelled `label`.
QCPAxisRect* new_colour_bar(QCustomPlot* plot, const HeatmapScale& scale, const std::string& label,
                            const PlotTheme& theme);

// Selection of tick labels that fit an axis after layout. The axis must have its final size.

/// Style of tick labels; later ones need less room.
enum class TickForm { kLevel, kTurned, kCrowded };

/// Returns the first form in which the labels of `figure_axis` do not overlap: level; below a panel
/// also rotated; else the reduced labels of crowded axes.
TickForm fitting_form(const QCPAxis& axis, const FigureAxis& figure_axis);

/// Returns n such that every n-th tick of a crowded axis is drawn: at most ten that fit; else 1.
int crowded_step(const QCPAxis& axis, const FigureAxis& requested);

/// Sets the label and ticks of `target` in `form`; on a crowded axis every `step`-th tick.
void set_form(QCPAxis& axis, const FigureAxis& target, TickForm form, int step);

/// Keeps every second, fourth, ... of the ticks of `figure_axis` so that their labels, if these are
/// numbers, do not touch.
void thin_out_ticks(QCPAxis& axis, const FigureAxis& figure_axis);

/// Removes ticks of a lower axis until their labels do not overlap; requests at least two.
void thin_out_numbers(QCPAxis& axis);

}  // namespace lime
