// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/theme.h"

#include <QFontDatabase>
#include <QFontInfo>
#include <QWidget>

#include "viz/plots/colour.h"

namespace lime::explorer {
namespace {

QPalette lightPalette() {
  QPalette palette;
  const QColor ink(32, 34, 37);
  palette.setColor(QPalette::Window, QColor(244, 245, 246));
  palette.setColor(QPalette::WindowText, ink);
  palette.setColor(QPalette::Base, QColor(255, 255, 255));
  palette.setColor(QPalette::AlternateBase, QColor(248, 249, 250));
  palette.setColor(QPalette::Text, ink);
  palette.setColor(QPalette::Button, QColor(240, 241, 243));
  palette.setColor(QPalette::ButtonText, ink);
  palette.setColor(QPalette::BrightText, QColor(180, 30, 30));
  palette.setColor(QPalette::ToolTipBase, QColor(255, 255, 255));
  palette.setColor(QPalette::ToolTipText, ink);
  palette.setColor(QPalette::PlaceholderText, QColor(118, 122, 128));
  palette.setColor(QPalette::Highlight, QColor(0, 102, 170));
  palette.setColor(QPalette::HighlightedText, QColor(255, 255, 255));
  palette.setColor(QPalette::Link, QColor(0, 96, 160));
  palette.setColor(QPalette::Mid, QColor(205, 208, 212));
  palette.setColor(QPalette::Midlight, QColor(230, 232, 235));
  palette.setColor(QPalette::Light, QColor(255, 255, 255));
  palette.setColor(QPalette::Dark, QColor(170, 174, 180));
  palette.setColor(QPalette::Shadow, QColor(120, 124, 130));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, QColor(150, 154, 160));
  }
  return palette;
}

QPalette darkPalette() {
  QPalette palette;
  const QColor ink(226, 228, 232);
  palette.setColor(QPalette::Window, QColor(33, 36, 41));
  palette.setColor(QPalette::WindowText, ink);
  palette.setColor(QPalette::Base, QColor(24, 26, 30));
  palette.setColor(QPalette::AlternateBase, QColor(29, 32, 36));
  palette.setColor(QPalette::Text, ink);
  palette.setColor(QPalette::Button, QColor(44, 48, 54));
  palette.setColor(QPalette::ButtonText, ink);
  palette.setColor(QPalette::BrightText, QColor(255, 120, 110));
  palette.setColor(QPalette::ToolTipBase, QColor(48, 52, 58));
  palette.setColor(QPalette::ToolTipText, ink);
  palette.setColor(QPalette::PlaceholderText, QColor(150, 155, 163));
  palette.setColor(QPalette::Highlight, QColor(38, 118, 178));
  palette.setColor(QPalette::HighlightedText, QColor(255, 255, 255));
  palette.setColor(QPalette::Link, QColor(110, 180, 235));
  palette.setColor(QPalette::Mid, QColor(62, 67, 74));
  palette.setColor(QPalette::Midlight, QColor(52, 56, 62));
  palette.setColor(QPalette::Light, QColor(70, 75, 82));
  palette.setColor(QPalette::Dark, QColor(20, 22, 25));
  palette.setColor(QPalette::Shadow, QColor(10, 11, 13));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, QColor(112, 117, 125));
  }
  return palette;
}

/// Returns the font of exports, or the widget's own where it is not installed.
std::string plotFamily(const QWidget& widget) {
  const QString usual = QString::fromStdString(FigureStyle{}.font);
  if (QFontDatabase::families().contains(usual, Qt::CaseInsensitive)) return usual.toStdString();
  return QFontInfo(widget.font()).family().toStdString();
}

QColor mixed(const QColor& a, const QColor& b, double share_of_a) {
  const auto channel = [share_of_a](int x, int y) {
    return static_cast<int>(share_of_a * x + (1.0 - share_of_a) * y + 0.5);
  };
  return {channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue())};
}

}  // namespace

bool isDark(const QPalette& palette) { return palette.color(QPalette::Window).lightness() < 128; }

QPalette paletteFor(ThemeChoice choice, const QPalette& desktop) {
  const bool dark =
      choice == ThemeChoice::kDark || (choice == ThemeChoice::kDesktop && isDark(desktop));
  return dark ? darkPalette() : lightPalette();
}

QPalette sideBarPalette(const QPalette& window) {
  constexpr double kQuiet = 0.18;
  constexpr double kQuietInTheDark = 0.38;
  QPalette palette = window;
  const QColor ground = window.color(QPalette::Window);
  palette.setColor(QPalette::Base, ground);
  palette.setColor(QPalette::Highlight, mixed(window.color(QPalette::Highlight), ground,
                                              isDark(window) ? kQuietInTheDark : kQuiet));
  palette.setColor(QPalette::HighlightedText, window.color(QPalette::Text));
  return palette;
}

FigureStyle screenStyle(const QWidget& widget, const Preferences& preferences) {
  FigureStyle style;
  style.font = plotFamily(widget);
  style.font_size = preferences.plot_font_size;
  style.theme = isDark(widget.palette()) ? FigureTheme::kDark : FigureTheme::kLight;
  return style;
}

QColor documentColour(int number, const QPalette& palette) {
  constexpr int kNamed = 7;  // colours that the palette has names for
  const Colour colour =
      class_colour(ClassPalette::kOkabeIto, static_cast<std::size_t>(number % kNamed), kNamed);
  const bool dim = isDark(palette) && luma(colour) < 0.45;
  const Colour shown = dim ? blend(colour, {255, 255, 255}, 0.65) : colour;
  return {shown.red, shown.green, shown.blue};
}

QColor mutedText(const QPalette& palette) { return palette.color(QPalette::PlaceholderText); }

}  // namespace lime::explorer
