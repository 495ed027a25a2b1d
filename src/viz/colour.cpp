// SPDX-License-Identifier: Apache-2.0
#include "viz/colour.h"

#include <algorithm>
#include <array>
#include <span>

#include "viz/series_style.h"

namespace lime {
namespace {

constexpr Colour from_hex(std::uint32_t rgb) {
  return {static_cast<std::uint8_t>(rgb >> 16), static_cast<std::uint8_t>(rgb >> 8 & 0xFF),
          static_cast<std::uint8_t>(rgb & 0xFF)};
}

// Every sixteenth entry of the published tables; linear interpolation is within 3 of 255.
constexpr std::array<std::uint32_t, 17> kViridis = {
    0x440154, 0x48186A, 0x472D7B, 0x424086, 0x3B528B, 0x33638D, 0x2C728E, 0x26828E, 0x21918C,
    0x1FA088, 0x28AE80, 0x3FBC73, 0x5EC962, 0x84D44B, 0xADDC30, 0xD8E219, 0xFDE725};
constexpr std::array<std::uint32_t, 17> kCividis = {
    0x00224E, 0x002E6A, 0x1A386F, 0x32436D, 0x434E6C, 0x535A6D, 0x61656F, 0x6F7073, 0x7D7C78,
    0x8C8878, 0x9B9476, 0xABA072, 0xBCAE6C, 0xCDBB63, 0xDEC958, 0xF0D846, 0xFEE838};
constexpr std::array<std::uint32_t, 2> kWhiteToBlack = {0xFFFFFF, 0x000000};
constexpr std::array<std::uint32_t, 11> kBlueRed = {0x053061, 0x2166AC, 0x4393C3, 0x92C5DE,
                                                    0xD1E5F0, 0xF7F7F7, 0xFDDBC7, 0xF4A582,
                                                    0xD6604D, 0xB2182B, 0x67001F};
constexpr std::array<std::uint32_t, 11> kPurpleOrange = {0x2D004B, 0x542788, 0x8073AC, 0xB2ABD2,
                                                         0xD8DAEB, 0xF7F7F7, 0xFEE0B6, 0xFDB863,
                                                         0xE08214, 0xB35806, 0x7F3B08};
constexpr std::array<std::uint32_t, 11> kGreenPurple = {0x00441B, 0x1B7837, 0x5AAE61, 0xA6DBA0,
                                                        0xD9F0D3, 0xF7F7F7, 0xE7D4E8, 0xC2A5CF,
                                                        0x9970AB, 0x762A83, 0x40004B};
constexpr std::array<std::uint32_t, 11> kGreenPurpleDark = {0xD9F0D3, 0xA6DBA0, 0x6DBB73, 0x3F8F50,
                                                            0x2B5637, 0x24272C, 0x523A5E, 0x82559A,
                                                            0xAA82BE, 0xCDB2D9, 0xEBDDF0};

// Its orange, sky blue and yellow are darker here: 3:1 against white and the dark background.
constexpr std::array<std::uint32_t, 7> kOkabeIto = {0x0072B2, 0xD55E00, 0x009E73, 0xB07D00,
                                                    0x2A97BF, 0xCC79A7, 0x8A63D2};
// Unlike those of models also for readers who confuse red and green. Its cyan, teal, olive and sand
// are darker here, or omitted.
constexpr std::array<std::uint32_t, kGroupColours> kMuted = {0x332288, 0xC25A6B, 0x2F8F84, 0x882255,
                                                             0x84842A, 0xAA4499, 0x117733};
/// Darker colours are lightened on dark backgrounds, to this share of themselves.
constexpr double kDimLuma = 0.45;
constexpr double kBrightShare = 0.65;
constexpr std::array<std::uint32_t, 4> kGreys = {0x1A1A1A, 0x949494, 0x474747, 0x707070};

/// Returns colours at equal distances on a palette.
std::span<const std::uint32_t> anchors_of(HeatmapPalette palette) {
  switch (palette) {
    case HeatmapPalette::kViridis: return kViridis;
    case HeatmapPalette::kCividis: return kCividis;
    case HeatmapPalette::kGrey: return kWhiteToBlack;
    case HeatmapPalette::kBlueRed: return kBlueRed;
    case HeatmapPalette::kPurpleOrange: return kPurpleOrange;
    case HeatmapPalette::kGreenPurple: return kGreenPurple;
    case HeatmapPalette::kGreenPurpleDark: return kGreenPurpleDark;
  }
  return kViridis;
}

}  // namespace

Colour blend(Colour a, Colour b, double share) {
  const auto mix = [&](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(share * x + (1.0 - share) * y + 0.5);  // round to nearest
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

double luma(Colour colour) {
  return (0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue) / 255.0;
}

HeatmapPalette usual_palette(bool is_signed, bool is_dark) {
  if (!is_signed) return HeatmapPalette::kViridis;
  return is_dark ? HeatmapPalette::kGreenPurpleDark : HeatmapPalette::kGreenPurple;
}

bool is_diverging(HeatmapPalette palette) {
  return palette != HeatmapPalette::kViridis && palette != HeatmapPalette::kCividis &&
         palette != HeatmapPalette::kGrey;
}

Colour class_colour(ClassPalette palette, std::size_t index, std::size_t count) {
  if (palette == ClassPalette::kGrey) return from_hex(kGreys[index % kGreys.size()]);
  if (count <= kOkabeIto.size()) return from_hex(kOkabeIto[index]);
  // The rest of viridis is too light on white.
  return heatmap_colour(HeatmapPalette::kViridis,
                        0.58 * static_cast<double>(index) / static_cast<double>(count - 1));
}

Colour colour_of_group(ClassPalette palette, std::size_t colour, bool is_dark) {
  if (is_step_colour(colour)) {
    const double fraction =
        static_cast<double>(colour - kFirstStepColour) / static_cast<double>(kNumSteps);
    if (palette == ClassPalette::kGrey) {
      return heatmap_colour(HeatmapPalette::kGrey, 1.0 - 0.6 * fraction);
    }
    // The rest of viridis is too light on white, and too dark on black.
    return heatmap_colour(HeatmapPalette::kViridis,
                          is_dark ? 0.25 + 0.75 * fraction : 0.75 * fraction);
  }
  const std::size_t index = kPositiveColour - 1 - colour;
  if (palette == ClassPalette::kGrey) return from_hex(kGreys[index % kGreys.size()]);
  const Colour own = from_hex(kMuted[index % kMuted.size()]);
  return is_dark && luma(own) < kDimLuma ? blend(own, {255, 255, 255}, kBrightShare) : own;
}

Colour heatmap_colour(HeatmapPalette palette, double position) {
  const std::span<const std::uint32_t> anchors = anchors_of(palette);
  const double place = std::clamp(position, 0.0, 1.0) * static_cast<double>(anchors.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(place), anchors.size() - 2);
  return blend(from_hex(anchors[low + 1]), from_hex(anchors[low]),
               place - static_cast<double>(low));
}

}  // namespace lime
