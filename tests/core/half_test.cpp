// SPDX-License-Identifier: Apache-2.0
#include "core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace lime {
namespace {

/// Definition of binary16, in exact arithmetic.
double value_of_half(HalfBits bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::vector<HalfBits> all_patterns() {
  std::vector<HalfBits> patterns(65536);
  std::iota(patterns.begin(), patterns.end(), HalfBits{0});
  return patterns;
}

HalfBits to_half(float value) {
  HalfBits bits = 0;
  float_to_half({&value, 1}, {&bits, 1});
  return bits;
}

TEST(HalfTest, WidensEveryPatternAsDefined) {
  const std::vector<HalfBits> patterns = all_patterns();
  std::vector<float> floats(patterns.size());
  half_to_float(patterns, floats);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const double expected = value_of_half(patterns[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(floats[i])) << i;
    } else {
      EXPECT_EQ(floats[i], expected) << i;
      EXPECT_EQ(std::signbit(floats[i]), (patterns[i] & 0x8000) != 0) << i;
    }
  }
}

TEST(HalfTest, NarrowsEveryHalfBackToItself) {
  const std::vector<HalfBits> patterns = all_patterns();
  std::vector<float> floats(patterns.size());
  std::vector<HalfBits> back(patterns.size());
  half_to_float(patterns, floats);
  float_to_half(floats, back);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (std::isnan(floats[i])) {
      EXPECT_TRUE(std::isnan(value_of_half(back[i]))) << i;
    } else {
      EXPECT_EQ(back[i], patterns[i]) << i;
    }
  }
}

TEST(HalfTest, RoundsToTheNearestAndHalfwayToTheEven) {
  // Between every pair of positive finite neighbours: below, at and above the middle.
  for (HalfBits lower = 0; lower < 0x7BFF; ++lower) {
    const auto upper = static_cast<HalfBits>(lower + 1);
    const double low = value_of_half(lower);
    const double high = value_of_half(upper);
    const auto middle = static_cast<float>((low + high) / 2.0);
    ASSERT_EQ(middle, (low + high) / 2.0);  // exact in float
    const HalfBits even = lower % 2 == 0 ? lower : upper;
    ASSERT_EQ(to_half(middle), even) << lower;
    ASSERT_EQ(to_half(-middle), even | 0x8000) << lower;
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0F)), lower) << lower;
    ASSERT_EQ(to_half(std::nextafter(middle, 1e6F)), upper) << lower;
  }
}

TEST(HalfTest, OverflowsToInfinityAndUnderflowsToZero) {
  EXPECT_EQ(to_half(65504.0F), 0x7BFF);
  EXPECT_EQ(to_half(std::nextafter(65520.0F, 0.0F)), 0x7BFF);
  EXPECT_EQ(to_half(65520.0F), 0x7C00);
  EXPECT_EQ(to_half(-1e30F), 0xFC00);
  EXPECT_EQ(to_half(std::ldexp(1.0F, -25)), 0x0000);
  EXPECT_EQ(to_half(-std::ldexp(1.0F, -26)), 0x8000);
  EXPECT_TRUE(std::isnan(value_of_half(to_half(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(BFloat16Test, IsTheUpperHalfOfAFloat) {
  const std::vector<HalfBits> patterns = all_patterns();
  std::vector<float> floats(patterns.size());
  bfloat16_to_float(patterns, floats);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(floats[i]), static_cast<std::uint32_t>(i) << 16);
  }
}

}  // namespace
}  // namespace lime
