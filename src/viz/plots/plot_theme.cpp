// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/plot_theme.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QStringList>
#include <array>

namespace lime {
namespace {

constexpr double kNegative = 0.15;  // place of a negative number in a signed palette

/// Replacements of common fonts, metrically compatible where there are any.
constexpr std::array<std::pair<std::string_view, const char*>, 8> kAliases = {
    {{"arial", "Liberation Sans"},
     {"helvetica", "Liberation Sans"},
     {"sans-serif", "Liberation Sans"},
     {"times", "Liberation Serif"},
     {"times new roman", "Liberation Serif"},
     {"serif", "Liberation Serif"},
     {"courier", "Liberation Mono"},
     {"courier new", "Liberation Mono"}}};

/// Returns `family`, or if it is not installed its replacement.
std::string installed_family(const std::string& family) {
  QStringList families = QFontDatabase::families();
  for (QString& item : families) item = item.section(QStringLiteral(" ["), 0, 0);  // "[foundry]"
  families.removeDuplicates();
  const auto is_installed = [&](const QString& name) {
    return families.contains(name, Qt::CaseInsensitive);
  };
  const QString requested = QString::fromStdString(family);
  if (is_installed(requested)) return family;
  for (const auto& [name, replacement] : kAliases) {
    if (requested.toLower().toStdString() == name && is_installed(replacement)) return replacement;
  }
  throw InvalidArgument(
      OptionName("font"),
      "'{}' is not installed (the default font is in Debian's fonts-liberation); available: "
      "{}",
      family, families.isEmpty() ? "none" : families.join(", ").toStdString());
}

Qt::PenStyle pen_style(LinePattern pattern) {
  switch (pattern) {
    case LinePattern::kSolid: return Qt::SolidLine;
    case LinePattern::kDashed: return Qt::DashLine;
    case LinePattern::kDotted: return Qt::DotLine;
    case LinePattern::kDashDotted: return Qt::DashDotLine;
    case LinePattern::kNone: return Qt::NoPen;
  }
  return Qt::SolidLine;
}

/// Returns the pattern of the `index`-th series: the four visible ones in turn.
constexpr LinePattern pattern_of(std::size_t index) {
  constexpr std::array kPatterns = {LinePattern::kSolid, LinePattern::kDashed, LinePattern::kDotted,
                                    LinePattern::kDashDotted};
  return kPatterns[index % kPatterns.size()];
}

}  // namespace

int units(double points) { return static_cast<int>(std::lround(points * kUnitsPerPoint)); }

QColor to_qcolor(Colour colour) { return {colour.red, colour.green, colour.blue}; }

QPainterPath marker_path(MarkerShape shape, double size) {
  QPainterPath path;
  switch (shape) {
    case MarkerShape::kNone: break;
    case MarkerShape::kDisc: path.addEllipse(QPointF(0, 0), size / 2.0, size / 2.0); break;
    case MarkerShape::kSquare:
      path.addRect(-0.45 * size, -0.45 * size, 0.9 * size, 0.9 * size);
      break;
    case MarkerShape::kTriangle:
      path.addPolygon(QPolygonF{{0, -0.58 * size},
                                {0.55 * size, 0.42 * size},
                                {-0.55 * size, 0.42 * size},
                                {0, -0.58 * size}});
      break;
    case MarkerShape::kDiamond:
      path.addPolygon(QPolygonF{{0, -0.65 * size},
                                {0.65 * size, 0},
                                {0, 0.65 * size},
                                {-0.65 * size, 0},
                                {0, -0.65 * size}});
      break;
  }
  return path;
}

PlotTheme::PlotTheme(const FigureStyle& style) : style_(style.at_venue()) {
  style_.font = installed_family(style_.font);
}

MarkerShape PlotTheme::class_marker(MarkerShape shape) const {
  return style_.palette == ClassPalette::kGrey ? shape : marker_of(0);
}

QFont PlotTheme::font(double points) const {
  QFont font(QString::fromStdString(style_.font));
  font.setPixelSize(std::max(1, units(points)));
  font.setHintingPreference(QFont::PreferNoHinting);
  return font;
}

QFont PlotTheme::title_font() const {
  QFont title = font(style_.font_size + 0.5);
  title.setBold(true);
  return title;
}

int PlotTheme::line_height() const {
  return static_cast<int>(std::ceil(QFontMetricsF(tick_font()).height()));
}

QPen PlotTheme::axis_pen() const {
  return {ink(), static_cast<qreal>(units(0.6)), Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin};
}

QPen PlotTheme::grid_pen() const {
  return {grid(), static_cast<qreal>(units(0.5)), Qt::SolidLine, Qt::FlatCap};
}

QColor PlotTheme::class_colour(std::size_t index, std::size_t count) const {
  if (index == kMutedColour) return muted();
  if (index == kNegativeColour || index == kPositiveColour) {
    const HeatmapPalette palette = usual_palette(/*is_signed=*/true, is_dark());
    return to_qcolor(
        heatmap_colour(palette, index == kNegativeColour ? kNegative : 1.0 - kNegative));
  }
  if (!is_class_colour(index)) {
    return to_qcolor(colour_of_group(style_.palette, index, is_dark()));
  }
  const Colour colour = lime::class_colour(style_.palette, index, count);
  // Lighten dark colours on a dark background.
  const bool is_dim = is_dark() && luma(colour) < 0.45;
  return to_qcolor(is_dim ? blend(colour, {255, 255, 255}, 0.65) : colour);
}

QPen PlotTheme::curve_pen(const SeriesStyle& style, std::size_t num_classes) const {
  QColor colour = class_colour(style.colour, num_classes);
  if (style.is_faint) colour.setAlphaF(0.55F);
  LinePattern pattern = style.pattern;
  // Greys repeat after four series, like markers: then dashes tell them apart.
  const bool repeats = style_.palette == ClassPalette::kGrey && is_class_colour(style.colour);
  const bool is_group = style_.palette == ClassPalette::kGrey && is_group_colour(style.colour);
  if (style.pattern == LinePattern::kSolid && (repeats || is_group)) {
    pattern = pattern_of((is_group ? group_colour(0) - style.colour : style.colour) / 4);
  }
  return {colour, static_cast<qreal>(units(style.width * (style.is_faint ? 0.7 : 1.2))),
          pen_style(pattern), Qt::FlatCap, Qt::RoundJoin};
}

HeatmapPalette PlotTheme::map_palette(bool is_signed) const {
  if (!style_.map_palette) return usual_palette(is_signed, is_dark());
  throw_if(is_signed && !is_diverging(*style_.map_palette), OptionName("map_palette"),
           "signed values need green-purple, blue-red or purple-orange, got '{}'",
           enum_name(*style_.map_palette));
  return *style_.map_palette;
}

}  // namespace lime
