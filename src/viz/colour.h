// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/options.h"

namespace lime {

/// An opaque colour, sRGB, 8 bits per channel.
struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  bool operator==(const Colour&) const = default;
};

/// `share` of `a` and the rest of `b`, each channel on its own; share in [0, 1].
Colour blend(Colour a, Colour b, double share);
/// How light a colour is in grey print: luma of BT.709, in [0, 1].
double luma(Colour colour);

/// Colours of things without an order: models, sites, classes.
enum class ClassPalette {
  kOkabeIto,  ///< told apart by colour-blind readers (Okabe & Ito 2008)
  kGrey,      ///< greys only; line patterns and markers tell series apart
};

/// Colours of numbers.
enum class MapPalette {
  kViridis,       ///< matplotlib's (van der Walt & Smith 2015, CC0)
  kCividis,       ///< Nunez, Anderton & Renslow 2018, CC0
  kGrey,          ///< white to black
  kBlueRed,       ///< diverging, ColorBrewer's RdBu turned round (Harrower & Brewer 2003)
  kPurpleOrange,  ///< diverging, ColorBrewer's PuOr turned round
};

template <>
struct EnumNames<ClassPalette> {
  static constexpr std::array<std::pair<ClassPalette, std::string_view>, 2> kNames = {
      {{ClassPalette::kOkabeIto, "okabe-ito"}, {ClassPalette::kGrey, "grey"}}};
};

template <>
struct EnumNames<MapPalette> {
  static constexpr std::array<std::pair<MapPalette, std::string_view>, 5> kNames = {
      {{MapPalette::kViridis, "viridis"},
       {MapPalette::kCividis, "cividis"},
       {MapPalette::kGrey, "grey"},
       {MapPalette::kBlueRed, "blue-red"},
       {MapPalette::kPurpleOrange, "purple-orange"}}};
};

/// Whether the palette has a middle that stands for 0.
bool is_diverging(MapPalette palette);

/// Colour of the `index`-th of `count` classes. Past the last named colour, classes take evenly
/// spaced colours of viridis.
Colour class_colour(ClassPalette palette, std::size_t index, std::size_t count);

/// Colour at `position` of the palette, clamped to [0, 1]; linear between the palette's anchors.
Colour map_colour(MapPalette palette, double position);

}  // namespace lime
