// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QFont>
#include <QPainterPath>
#include <QPen>
#include <cstddef>

#include "viz/colour.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Layout units per point: tenths of a point, so that rounding to whole units is invisible.
inline constexpr double kUnitsPerPoint = 10.0;
inline constexpr double kUnitsPerInch = 72.0 * kUnitsPerPoint;
inline constexpr double kUnitsPerMm = kUnitsPerInch / 25.4;

int units(double points);

QColor to_qcolor(Colour colour);

/// Returns a marker about `size` across, centred at the origin; empty for kNone.
QPainterPath marker_path(MarkerShape shape, double size);

/// Fonts, pens and colours of one figure: the style as Qt types.
class PlotTheme {
 public:
  /// Uses the venue's font, and a replacement for a common font that is not installed.
  /// @throws InvalidArgument  if there is none; lists the installed families.
  explicit PlotTheme(const FigureStyle& style);

  const FigureStyle& style() const { return style_; }
  QFont label_font() const { return font(style_.font_size); }
  QFont tick_font() const { return font(style_.font_size - 1.0); }
  QFont note_font() const { return font(style_.font_size - 1.5); }
  QFont title_font() const;
  /// Returns the height of a line of the tick font, in units.
  int line_height() const;

  /// Returns the colour of the background.
  QColor ground() const { return is_dark() ? QColor(24, 26, 30) : QColor(255, 255, 255); }
  /// Returns the colour of text and axes.
  QColor ink() const { return is_dark() ? QColor(228, 228, 228) : QColor(30, 30, 30); }
  /// Returns the colour of reference lines.
  QColor muted() const { return is_dark() ? QColor(150, 150, 150) : QColor(120, 120, 120); }
  QColor grid() const { return is_dark() ? QColor(52, 56, 62) : QColor(230, 230, 230); }
  QPen axis_pen() const;
  QPen grid_pen() const;

  QColor class_colour(std::size_t index, std::size_t count) const;
  /// Returns the marker of a class of points: a disc, or in greys one of four shapes.
  MarkerShape class_marker(MarkerShape shape) const;
  QPen curve_pen(const SeriesStyle& style, std::size_t num_classes) const;
  /// @throws InvalidArgument  if values are signed but the palette is not diverging.
  HeatmapPalette map_palette(bool is_signed) const;

 private:
  bool is_dark() const { return style_.theme == FigureTheme::kDark; }
  QFont font(double points) const;

  FigureStyle style_;
};

}  // namespace lime
