// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_style.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "core/errors.h"

namespace lime {
namespace {

struct VenueStyle {
  Venue venue;
  std::string_view narrow;  ///< size of figures with few panels
  std::string_view wide;
  const char* font;  ///< Liberation Serif has the metrics of Times
  double font_size;
  double magnification = 1.0;
};

constexpr std::array<VenueStyle, 6> kVenues = {{
    {Venue::kAcl, "acl-column", "acl-page", "Liberation Serif", 8.5},
    {Venue::kNeurips, "neurips", "neurips", "Liberation Serif", 8.5},
    {Venue::kIcml, "icml-column", "icml-page", "Liberation Serif", 8.5},
    {Venue::kIclr, "iclr", "iclr", "Liberation Serif", 8.5},
    {Venue::kSlides, "slide", "slide", "Liberation Sans", 14.0, 1.75},
    {Venue::kPoster, "poster", "poster", "Liberation Sans", 24.0, 3.0},
}};

const VenueStyle& style_of(Venue venue) {
  return *std::ranges::find(kVenues, venue, &VenueStyle::venue);
}

}  // namespace

FigureSize figure_size(const FigureStyle& style, bool is_wide) {
  const VenueStyle& venue = style_of(style.venue.value_or(Venue::kAcl));
  FigureSize size = figure_size(style.size != "auto" ? style.size
                                : is_wide            ? venue.wide
                                                     : venue.narrow);
  size.width_mm /= venue.magnification;
  if (size.height_mm) *size.height_mm /= venue.magnification;
  if (size.max_height_mm) *size.max_height_mm /= venue.magnification;
  return size;
}

double FigureStyle::magnification() const { return venue ? style_of(*venue).magnification : 1.0; }

FigureStyle FigureStyle::at_venue() const {
  FigureStyle style = *this;
  if (!venue) return style;
  const VenueStyle& own = style_of(*venue);
  if (font == FigureStyle{}.font) style.font = own.font;
  if (font_size == FigureStyle{}.font_size) style.font_size = own.font_size;
  style.font_size /= own.magnification;
  return style;
}

void FigureStyle::describe(OptionList& list) {
  list.group("Style");
  list.add("size", size,
           "auto, acl-column, acl-page, icml-column, icml-page, neurips, iclr, a4-page, slide, "
           "poster, or millimetres, e.g. 120 or 120x80");
  list.add("venue", venue, "width, font and font size of a venue, unless set by other options");
  list.add("font", font, "font family");
  list.add("font_size", font_size, "size of axis labels in pt");
  list.add("palette", palette, "colours of models and classes");
  list.add("map_palette", map_palette, "colours of heatmaps");
  list.add("theme", theme, "light or dark background");
  list.add("panel", panel, "panels to draw, counted from 1; default: all");
  list.add("no_note", no_note, "omit the note below the panels; it is printed for the caption");
  list.add("anonymous", anonymous,
           "omit paths, commands and machines from the provenance, for blind review");
  list.add("panel_letters", panel_letters, "label the panels a, b, c");
  list.add("title", title, "title above the figure");
  list.add("dpi", dpi, "dots per inch of PNG and of rasterized points");
  list.add("rasterize", rasterize, "rasterize scatter plots inside PDF and SVG");
}

void FigureStyle::validate() const {
  figure_size(*this, false);
  throw_if(!(font_size >= 2.0 && font_size <= 72.0), OptionName("font_size"),
           "must be in [2, 72] pt, got {}", font_size);
  if (dpi < 30 || dpi > 2400)
    throw InvalidArgument(OptionName("dpi"), "must be in [30, 2400], got {}", dpi);
  if (font.empty()) throw InvalidArgument(OptionName("font"), "expected a font family, got ''");
}

}  // namespace lime
