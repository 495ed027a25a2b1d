// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lime {

/// A number as digits and a power of ten: "0.123" and 0, "1.2" and -5.
struct NumberText {
  std::string digits;
  int exponent = 0;
};

/// Returns `value` with `decimals` after the point. If it is smaller than the last of them, two
/// significant digits instead, below 1e-4 with a power of ten: no value but 0 is shown as 0.
/// Infinities and NaN are "inf", "-inf" and "nan".
NumberText number_text(double value, int decimals);

/// Returns it as one text: "0.123", "0.00042", "1.2e-05".
std::string decimal_text(double value, int decimals);

/// Returns the nearest whole number with commas between thousands: "67,000".
std::string with_commas(double value);

}  // namespace lime
