// SPDX-License-Identifier: Apache-2.0
#include "viz/colour.h"

#include <gtest/gtest.h>

#include <cmath>

#include "viz/class_colours.h"

namespace lime {
namespace {

TEST(ColourTest, PalettesBeginAndEndAsPublished) {
  EXPECT_EQ(heatmap_colour(HeatmapPalette::kViridis, 0.0), (Colour{0x44, 0x01, 0x54}));
  EXPECT_EQ(heatmap_colour(HeatmapPalette::kViridis, 1.0), (Colour{0xFD, 0xE7, 0x25}));
  EXPECT_EQ(heatmap_colour(HeatmapPalette::kCividis, 0.0), (Colour{0x00, 0x22, 0x4E}));
  EXPECT_EQ(heatmap_colour(HeatmapPalette::kViridis, -3.0),
            heatmap_colour(HeatmapPalette::kViridis, 0.0));
}

TEST(ColourTest, SequentialPalettesGetLighterThroughout) {
  for (const HeatmapPalette palette : {HeatmapPalette::kViridis, HeatmapPalette::kCividis}) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_LE(luma(heatmap_colour(palette, i / 100.0)),
                luma(heatmap_colour(palette, (i + 1) / 100.0)));
    }
  }
}

TEST(ColourTest, DivergingPalettesAreLightestInTheMiddle) {
  for (const HeatmapPalette palette :
       {HeatmapPalette::kBlueRed, HeatmapPalette::kPurpleOrange, HeatmapPalette::kGreenPurple}) {
    EXPECT_TRUE(is_diverging(palette));
    const double middle = luma(heatmap_colour(palette, 0.5));
    EXPECT_GT(middle, 0.95);
    for (int i = 0; i < 50; ++i) EXPECT_LT(luma(heatmap_colour(palette, i / 100.0)), middle);
  }
}

TEST(ColourTest, GreysDifferInGreyPrint) {
  const double difference =
      luma(class_colour(ClassPalette::kGrey, 0, 2)) - luma(class_colour(ClassPalette::kGrey, 1, 2));
  EXPECT_GT(std::abs(difference), 0.3);
}

/// Returns the contrast of WCAG 2.1.
double contrast(Colour a, Colour b) {
  const auto linear = [](std::uint8_t channel) {
    const double value = channel / 255.0;
    return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  const auto luminance = [&](Colour c) {
    return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue) + 0.05;
  };
  const double ratio = luminance(a) / luminance(b);
  return std::max(ratio, 1.0 / ratio);
}

TEST(ColourTest, ClassesContrastWithTheBackground) {
  for (std::size_t i = 0; i < 7; ++i) {
    const Colour colour = class_colour(ClassPalette::kOkabeIto, i, 7);
    EXPECT_GE(contrast(colour, {255, 255, 255}), 3.0) << i;
    EXPECT_GE(contrast(colour, {24, 26, 30}), 3.0) << i;
    EXPECT_GE(contrast(class_colour(ClassPalette::kGrey, i, 7), {255, 255, 255}), 3.0) << i;
    EXPECT_GE(contrast(class_colour(ClassPalette::kOkabeIto, 2 * i, 13), {255, 255, 255}), 3.0);
  }
}

TEST(ColourTest, GroupsThatAreNoModelsHaveNoColourOfAModel) {
  for (std::size_t i = 0; i < kGroupColours; ++i) {
    const Colour colour = colour_of_group(ClassPalette::kOkabeIto, group_colour(i), false);
    EXPECT_GE(contrast(colour, {255, 255, 255}), 3.0) << i;
    const Colour on_dark = colour_of_group(ClassPalette::kOkabeIto, group_colour(i), true);
    EXPECT_GE(contrast(on_dark, {24, 26, 30}), 3.0) << i;
    for (std::size_t model = 0; model < 6; ++model) {
      const Colour other = class_colour(ClassPalette::kOkabeIto, model, 6);
      const int difference = std::abs(colour.red - other.red) +
                             std::abs(colour.green - other.green) +
                             std::abs(colour.blue - other.blue);
      EXPECT_GT(difference, 40) << i << " and model " << model;
    }
    EXPECT_FALSE(is_class_colour(group_colour(i)));
  }
}

TEST(ColourTest, ClassesThatAreNumbersHaveTheOrderOfTheSequentialPalette) {
  const std::vector<std::string> numbers = {" 3", "1", " 12", "2"};
  EXPECT_EQ(class_colours(numbers), (std::vector{step_colour(2.0 / 3), step_colour(0.0),
                                                 step_colour(1.0), step_colour(1.0 / 3)}));
  const std::vector<std::string> words = {" is", "other", " was"};
  EXPECT_EQ(class_colours(words), (std::vector{group_colour(0), kMutedColour, group_colour(1)}));
  const std::vector<std::string> many(9, "word");
  EXPECT_EQ(class_colours(many).back(), step_colour(1.0));
  double before = 0.0;
  for (const double fraction : {0.0, 0.3, 0.6, 1.0}) {
    const Colour colour =
        colour_of_group(ClassPalette::kOkabeIto, step_colour(fraction), /*is_dark=*/false);
    EXPECT_GT(luma(colour), before) << "readers who see no hue see the order";
    before = luma(colour);
  }
}

TEST(ColourTest, ManyClassesGetDifferentColours) {
  for (std::size_t i = 1; i < 20; ++i) {
    EXPECT_NE(class_colour(ClassPalette::kOkabeIto, i, 20),
              class_colour(ClassPalette::kOkabeIto, i - 1, 20));
  }
}

}  // namespace
}  // namespace lime
