// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QFont>
#include <QPen>

#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Layout units per point: tenths of a point, so that the rounding to whole units by Qt's fonts and
/// QCustomPlot's layout is invisible.
inline constexpr double kUnitsPerPoint = 10.0;
inline constexpr double kUnitsPerInch = 72.0 * kUnitsPerPoint;
inline constexpr double kUnitsPerMm = kUnitsPerInch / 25.4;

/// Converts points to units, rounded.
int units(double points);

QColor to_qcolor(Colour colour);

/// Fonts, pens and colours of one figure: the style as Qt types.
class PlotTheme {
 public:
  /// @throws InvalidArgument  if the font family is not installed; lists the installed ones.
  explicit PlotTheme(const FigureStyle& style);

  const FigureStyle& style() const { return style_; }
  QFont label_font() const { return font(style_.font_size); }
  QFont tick_font() const { return font(style_.font_size - 1.0); }
  QFont note_font() const { return font(style_.font_size - 1.5); }
  QFont title_font() const;
  /// Returns the height of a line of the tick font, in units.
  int line_height() const;

  QColor ground() const;  ///< background
  QColor ink() const;     ///< text and axes
  QColor muted() const;   ///< reference lines
  QColor grid() const;
  QPen axis_pen() const;
  QPen grid_pen() const;

  QColor class_colour(std::size_t index, std::size_t count) const;
  QPen curve_pen(const SeriesStyle& style, std::size_t num_classes) const;
  /// Returns the heatmap palette. @throws InvalidArgument  if values are signed but it is not
  /// diverging.
  HeatmapPalette map_palette(bool is_signed) const;

 private:
  QFont font(double points) const;

  FigureStyle style_;
};

}  // namespace lime
