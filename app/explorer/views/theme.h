// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QPalette>

#include "explorer/models/preferences.h"
#include "viz/figure_style.h"

class QWidget;

namespace lime::explorer {

bool isDark(const QPalette& palette);

/// The colours of the window. @param desktop  what the desktop asks for: it decides kDesktop.
QPalette paletteFor(ThemeChoice choice, const QPalette& desktop);

/// The same for the lists of the side bar: on the window's ground, with a quiet selection.
QPalette sideBarPalette(const QPalette& window);

/// How plots look inside `widget`: its theme, its preferences' font size.
FigureStyle screenStyle(const QWidget& widget, const Preferences& preferences);

/// The colour of a document, as in plots.
QColor documentColour(int number, const QPalette& palette);

/// Less important text.
QColor mutedText(const QPalette& palette);

}  // namespace lime::explorer
