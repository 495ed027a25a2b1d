// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QPalette>

#include "explorer/models/figures.h"
#include "explorer/models/preferences.h"
#include "viz/figure_style.h"

class QWidget;

namespace lime::explorer {

bool isDark(const QPalette& palette);

/// Returns the colours of the explorer. @param desktop  palette of the desktop, for kDesktop
QPalette paletteFor(ThemeChoice choice, const QPalette& desktop);

/// Returns the palette of the lists of the side bar: the background of the window, with a quiet
/// selection.
QPalette sideBarPalette(const QPalette& window);

/// Returns the style of plots inside `widget`: its theme, the font size of the preferences.
FigureStyle screenStyle(const QWidget& widget, const Preferences& preferences);

/// Returns the colour of a document, as in plots.
QColor documentColour(int number, const QPalette& palette);

QColor inkOn(const QColor& ground);
/// Returns the colour of a loss that rises, purple, or falls, green: of the signs in heatmaps.
QColor lossColour(bool rises);
/// Returns the same as text on `palette`.
QColor lossColour(bool rises, const QPalette& palette);
/// Returns the colour of less important text.
inline QColor mutedText(const QPalette& palette) {
  return palette.color(QPalette::PlaceholderText);
}

}  // namespace lime::explorer
