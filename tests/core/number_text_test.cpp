// SPDX-License-Identifier: Apache-2.0
#include "core/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lime {
namespace {

TEST(NumberTextTest, HasTheDecimalsThatWereAskedFor) {
  EXPECT_EQ(decimal_text(1.23456, 3), "1.235");
  EXPECT_EQ(decimal_text(0.0014, 3), "0.001");
  EXPECT_EQ(decimal_text(-23300.0, 1), "-23300.0");
  EXPECT_EQ(decimal_text(12.0, 0), "12");
  EXPECT_EQ(decimal_text(0.0, 3), "0.000");
  EXPECT_EQ(decimal_text(-0.0, 3), "0.000");
}

TEST(NumberTextTest, ShowsTwoDigitsOfSmallerNumbers) {
  EXPECT_EQ(decimal_text(0.00042, 3), "0.00042");
  EXPECT_EQ(decimal_text(-0.00042, 3), "-0.00042");
  EXPECT_EQ(decimal_text(0.000996, 3), "0.00100");
  EXPECT_EQ(decimal_text(0.04, 1), "0.040");
  EXPECT_EQ(decimal_text(0.0000123, 3), "1.2e-05");
  EXPECT_EQ(decimal_text(-2.2e-16, 3), "-2.2e-16");
  EXPECT_EQ(decimal_text(9.99e-6, 3), "1.0e-05");
  EXPECT_EQ(decimal_text(std::numeric_limits<double>::denorm_min(), 3), "4.9e-324");
}

TEST(NumberTextTest, NoNumberButZeroLooksLikeZero) {
  for (int decimals = 0; decimals < 6; ++decimals) {
    for (double value = 3.0; value > 1e-300; value /= 1.7) {
      const double shown = std::stod(decimal_text(value, decimals));
      EXPECT_LE(std::abs(shown - value), 0.5 * std::max(std::pow(10.0, -decimals), 0.1 * value))
          << value << " with " << decimals;
      EXPECT_NE(shown, 0.0) << value << " with " << decimals;
    }
  }
}

TEST(NumberTextTest, NamesWhatIsNotFinite) {
  EXPECT_EQ(decimal_text(std::numeric_limits<double>::infinity(), 3), "inf");
  EXPECT_EQ(decimal_text(-std::numeric_limits<double>::infinity(), 3), "-inf");
  EXPECT_EQ(decimal_text(std::numeric_limits<double>::quiet_NaN(), 3), "nan");
}

TEST(NumberTextTest, SeparatesThePowerOfTen) {
  EXPECT_EQ(number_text(1.23e-5, 3).digits, "1.2");
  EXPECT_EQ(number_text(1.23e-5, 3).exponent, -5);
  EXPECT_EQ(number_text(0.5, 3).exponent, 0);
}

}  // namespace
}  // namespace lime
