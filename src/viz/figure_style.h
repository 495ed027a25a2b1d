// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.h"

namespace lime {

/// An opaque colour, sRGB, 8 bits per channel.
struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  bool operator==(const Colour&) const = default;
};

/// Mixes `share` of `a` with the rest of `b` per channel; share in [0, 1].
Colour blend(Colour a, Colour b, double share);
/// Returns the brightness of a colour in greyscale print: luma of BT.709, in [0, 1].
double luma(Colour colour);

/// Qualitative palettes: for models, sites, classes.
enum class ClassPalette {
  kOkabeIto,  ///< Okabe & Ito 2008, its light colours darkened: contrast >= 3:1
  kGrey,      ///< greys only; line patterns and markers distinguish series
};

/// Sequential and diverging palettes for numbers.
enum class HeatmapPalette {
  kViridis,          ///< matplotlib's (van der Walt & Smith 2015, CC0)
  kCividis,          ///< Nunez, Anderton & Renslow 2018, CC0
  kGrey,             ///< white to black
  kBlueRed,          ///< diverging, ColorBrewer's RdBu reversed (Harrower & Brewer 2003)
  kPurpleOrange,     ///< diverging, ColorBrewer's PuOr reversed
  kGreenPurple,      ///< diverging, ColorBrewer's PRGn reversed
  kGreenPurpleDark,  ///< with a dark middle, for dark backgrounds; no option
};

constexpr auto names_of(ClassPalette) { return names_in_order<ClassPalette>("okabe-ito", "grey"); }

constexpr auto names_of(HeatmapPalette) {
  return names_in_order<HeatmapPalette>("viridis", "cividis", "grey", "blue-red", "purple-orange",
                                        "green-purple");
}

/// Returns the palette of heatmaps for which none was selected.
HeatmapPalette usual_palette(bool is_signed, bool is_dark);
/// Returns true if the middle of the palette represents 0.
bool is_diverging(HeatmapPalette palette);

/// Returns the colour of the `index`-th of `count` classes. Many classes use viridis.
Colour class_colour(ClassPalette palette, std::size_t index, std::size_t count);

/// Returns the colour at `position` of the palette, clamped to [0, 1].
Colour heatmap_colour(HeatmapPalette palette, double position);

enum class FigureTheme { kLight, kDark };

constexpr auto names_of(FigureTheme) { return names_in_order<FigureTheme>("light", "dark"); }

struct FigureSize {
  double width_mm = 0.0;
  std::optional<double> height_mm = {};      ///< unset: as the panels require
  std::optional<double> max_height_mm = {};  ///< of a page; unset: unlimited
};

/// Medium of a figure: its widths, text font and font size.
enum class Venue { kAcl, kNeurips, kIcml, kIclr, kSlides, kPoster };

constexpr auto names_of(Venue) {
  return names_in_order<Venue>("acl", "neurips", "icml", "iclr", "slides", "poster");
}

struct FigureStyle {
  /// A name of figure_size(), "WIDTHxHEIGHT" or "WIDTH" in mm, or "auto": acl-page or acl-column.
  std::string size = "auto";
  /// Replaces those of size, font and font_size that have their defaults.
  std::optional<Venue> venue = {};
  std::string font = "Liberation Sans";
  double font_size = 8.0;  ///< pt, of axis labels; ticks and legend are one point smaller
  ClassPalette palette = ClassPalette::kOkabeIto;
  /// Unset: viridis, or green-purple for signed values.
  std::optional<HeatmapPalette> map_palette = {};
  FigureTheme theme = FigureTheme::kLight;
  /// Panels to draw, counted from 1; empty: all.
  std::vector<int> panel = {};
  bool no_note = false;        ///< omits the note, which belongs in the caption
  bool anonymous = false;      ///< omits paths and whatever names people from the provenance
  bool panel_letters = false;  ///< a, b, c, ... at the panels' upper left corners
  std::string title = {};
  int dpi = 300;           ///< of PNG files and of rasterized parts of PDF or SVG
  bool rasterize = false;  ///< rasterizes scatter plots in PDF and SVG

  void describe(OptionList& list);
  void validate() const;
  /// Returns the factor by which the drawn figure is enlarged for `venue`: lines, markers and gaps
  /// of slides and posters grow with the letters.
  double magnification() const;
  /// Returns the style with the font and font size of `venue`, if any, before magnification().
  FigureStyle at_venue() const;
};

/// Returns the size of a figure in `style` before magnification(); `is_wide` resolves "auto".
/// @throws InvalidArgument that lists the names.
FigureSize figure_size(const FigureStyle& style, bool is_wide);

/// Parses a size or its name. @throws InvalidArgument that lists the names.
FigureSize figure_size(std::string_view text);

}  // namespace lime
