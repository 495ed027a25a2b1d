// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QFont>
#include <QPen>

#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// A figure is laid out in tenths of a point, so that rounding to whole units, which Qt's fonts and
/// QCustomPlot's layout do, cannot be seen.
inline constexpr double kUnitsPerPoint = 10.0;
inline constexpr double kUnitsPerInch = 72.0 * kUnitsPerPoint;
inline constexpr double kUnitsPerMm = kUnitsPerInch / 25.4;

/// `points` in units, rounded.
int units(double points);

QColor to_qcolor(Colour colour);

/// Fonts, pens and colours of one figure: the style in Qt's terms.
class PlotTheme {
 public:
  /// @throws InvalidArgument  if the font family is not installed; says which are.
  explicit PlotTheme(const FigureStyle& style);

  const FigureStyle& style() const { return style_; }
  QFont label_font() const { return font(style_.font_size); }
  QFont tick_font() const { return font(style_.font_size - 1.0); }
  QFont note_font() const { return font(style_.font_size - 1.5); }
  QFont title_font() const;
  /// Height of a line of the tick font, in units.
  int line_height() const;

  QColor ground() const;  ///< behind everything
  QColor ink() const;     ///< text and axes
  QColor muted() const;   ///< reference lines
  QColor grid() const;
  QPen axis_pen() const;
  QPen grid_pen() const;

  QColor class_colour(std::size_t index, std::size_t count) const;
  QPen curve_pen(const SeriesLook& look, std::size_t num_classes) const;
  /// The palette of maps, signed or not. @throws InvalidArgument  if signs meet no diverging one.
  MapPalette map_palette(bool is_signed) const;

 private:
  QFont font(double points) const;

  FigureStyle style_;
};

}  // namespace lime
