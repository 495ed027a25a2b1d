// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/theme.h"

#include <QFontDatabase>
#include <QFontInfo>
#include <QWidget>

namespace lime::explorer {
namespace {

/// The colour of a role on a light and on a dark background.
struct RoleColours {
  QPalette::ColorRole role;
  QRgb light;
  QRgb dark;
};
constexpr std::array kColours = {
    RoleColours{QPalette::Window, qRgb(244, 245, 246), qRgb(33, 36, 41)},
    RoleColours{QPalette::WindowText, qRgb(32, 34, 37), qRgb(226, 228, 232)},
    RoleColours{QPalette::Base, qRgb(255, 255, 255), qRgb(24, 26, 30)},
    RoleColours{QPalette::AlternateBase, qRgb(248, 249, 250), qRgb(29, 32, 36)},
    RoleColours{QPalette::Text, qRgb(32, 34, 37), qRgb(226, 228, 232)},
    RoleColours{QPalette::Button, qRgb(240, 241, 243), qRgb(44, 48, 54)},
    RoleColours{QPalette::ButtonText, qRgb(32, 34, 37), qRgb(226, 228, 232)},
    RoleColours{QPalette::BrightText, qRgb(180, 30, 30), qRgb(255, 120, 110)},
    RoleColours{QPalette::ToolTipBase, qRgb(255, 255, 255), qRgb(48, 52, 58)},
    RoleColours{QPalette::ToolTipText, qRgb(32, 34, 37), qRgb(226, 228, 232)},
    RoleColours{QPalette::PlaceholderText, qRgb(118, 122, 128), qRgb(150, 155, 163)},
    RoleColours{QPalette::Highlight, qRgb(0, 102, 170), qRgb(38, 118, 178)},
    RoleColours{QPalette::HighlightedText, qRgb(255, 255, 255), qRgb(255, 255, 255)},
    RoleColours{QPalette::Link, qRgb(0, 96, 160), qRgb(110, 180, 235)},
    RoleColours{QPalette::Mid, qRgb(205, 208, 212), qRgb(62, 67, 74)},
    RoleColours{QPalette::Midlight, qRgb(230, 232, 235), qRgb(52, 56, 62)},
    RoleColours{QPalette::Light, qRgb(255, 255, 255), qRgb(70, 75, 82)},
    RoleColours{QPalette::Dark, qRgb(170, 174, 180), qRgb(20, 22, 25)},
    RoleColours{QPalette::Shadow, qRgb(120, 124, 130), qRgb(10, 11, 13)}};
constexpr RoleColours kDisabled = {QPalette::Text, qRgb(150, 154, 160), qRgb(112, 117, 125)};

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
  QPalette palette;
  for (const auto& [role, light_colour, dark_colour] : kColours) {
    palette.setColor(role, dark ? dark_colour : light_colour);
  }
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, dark ? kDisabled.dark : kDisabled.light);
  }
  return palette;
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
  if (number < 0) return mutedText(palette);
  const Colour colour = class_colour(ClassPalette::kOkabeIto, modelColour(number), kModelColours);
  const bool dim = isDark(palette) && luma(colour) < 0.45;
  const Colour shown = dim ? blend(colour, {255, 255, 255}, 0.65) : colour;
  return {shown.red, shown.green, shown.blue};
}

QColor lossColour(bool rises) { return rises ? QColor(118, 42, 131) : QColor(27, 120, 55); }

QColor lossColour(bool rises, const QPalette& palette) {
  const QColor colour = lossColour(rises);
  const Colour own = {static_cast<std::uint8_t>(colour.red()),
                      static_cast<std::uint8_t>(colour.green()),
                      static_cast<std::uint8_t>(colour.blue())};
  const Colour pale = blend(own, {255, 255, 255}, 0.5);
  return isDark(palette) ? QColor(pale.red, pale.green, pale.blue) : colour;
}

QColor inkOn(const QColor& ground) {
  const double luma = 0.2126 * ground.redF() + 0.7152 * ground.greenF() + 0.0722 * ground.blueF();
  return luma < 0.5 ? QColor(255, 255, 255) : QColor(20, 20, 20);
}

}  // namespace lime::explorer
