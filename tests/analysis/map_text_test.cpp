// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/map_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "analysis/report/aligned_text.h"

namespace lime {
namespace {

/// Lower triangle of a heatmap with equal weights for all layers.
MatrixD even_map(Eigen::Index layers) {
  MatrixD map = MatrixD::Constant(layers, layers, NAN);
  for (Eigen::Index row = 0; row < layers; ++row) {
    map.row(row).head(row + 1).setConstant(1.0 / double(row + 1));
  }
  return map;
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, display_width(line));
  return width;
}

TEST(MapTextTest, ShowsPercentAndAShadePerCell) {
  EXPECT_EQ(map_to_text(even_map(3), false, {.width = 100, .unicode = false}),
            "    0   1   2\n"
            "0 100#\n"
            "1  50+ 50+\n"
            "2  33+ 33+ 33+\n");
}

TEST(MapTextTest, ShowsDifferencesWithTheirSign) {
  MatrixD map(2, 2);
  map << 0.0, NAN, 0.126, -0.126;
  EXPECT_EQ(map_to_text(map, true, {.width = 100, .unicode = false}),
            "     0   1\n"
            "0    0\n"
            "1  +13 -13\n");
}

TEST(MapTextTest, FitsEveryWidth) {
  for (const int layers : {1, 4, 16, 32, 128}) {
    for (const int width : {40, 80, 100, 200}) {
      for (const bool unicode : {false, true}) {
        const std::string text = map_to_text(even_map(layers), false, {width, unicode});
        EXPECT_LE(widest(text), static_cast<std::size_t>(width)) << layers << " " << width;
        EXPECT_GE(std::count(text.begin(), text.end(), '\n'), layers);
      }
    }
  }
  EXPECT_EQ(map_to_text(even_map(64), true, {.width = 80}), "");
}

TEST(MapTextTest, ShadesGrowWithTheValue) {
  VectorD values(6);
  values << 0.0, 0.2, 0.4, 0.6, 1.0, NAN;
  EXPECT_EQ(shades(values, 1.0, {.unicode = false}), " .+*# ");
}

}  // namespace
}  // namespace lime
