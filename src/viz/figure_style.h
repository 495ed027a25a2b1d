// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/options.h"
#include "viz/colour.h"
#include "viz/figure_size.h"

namespace lime {

enum class FigureTheme { kLight, kDark };

constexpr auto names_of(FigureTheme) {
  using enum FigureTheme;
  return enum_table<FigureTheme>({{kLight, "light"}, {kDark, "dark"}});
}

/// Medium of a figure: its widths, text font and font size.
enum class Venue { kAcl, kNeurips, kIcml, kIclr, kSlides, kPoster };

constexpr auto names_of(Venue) {
  using enum Venue;
  return enum_table<Venue>({{kAcl, "acl"},
                            {kNeurips, "neurips"},
                            {kIcml, "icml"},
                            {kIclr, "iclr"},
                            {kSlides, "slides"},
                            {kPoster, "poster"}});
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

}  // namespace lime
