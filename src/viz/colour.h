// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

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

/// Qualitative palettes.
enum class ClassPalette {
  kOkabeIto,  ///< of models; Okabe & Ito 2008, its light colours darkened: contrast >= 3:1
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

constexpr auto names_of(ClassPalette) {
  using enum ClassPalette;
  return enum_table<ClassPalette>({{kOkabeIto, "okabe-ito"}, {kGrey, "grey"}});
}

constexpr auto names_of(HeatmapPalette) {
  using enum HeatmapPalette;
  return enum_table<HeatmapPalette>({{kViridis, "viridis"},
                                     {kCividis, "cividis"},
                                     {kGrey, "grey"},
                                     {kBlueRed, "blue-red"},
                                     {kPurpleOrange, "purple-orange"},
                                     {kGreenPurple, "green-purple"}});
}

/// Returns the palette of heatmaps for which none was selected.
HeatmapPalette usual_palette(bool is_signed, bool is_dark);
/// Returns true if the middle of the palette represents 0.
bool is_diverging(HeatmapPalette palette);

/// Returns the colour of the `index`-th of `count` classes. Many classes use viridis.
Colour class_colour(ClassPalette palette, std::size_t index, std::size_t count);

/// Returns the colour of groups that are no models, is_group_colour() or is_step_colour(): Paul
/// Tol's "muted" (2021), its light colours darkened to a contrast of 3:1, or a part of viridis.
Colour colour_of_group(ClassPalette palette, std::size_t colour, bool is_dark);

/// Returns the colour at `position` of the palette, clamped to [0, 1].
Colour heatmap_colour(HeatmapPalette palette, double position);

}  // namespace lime
