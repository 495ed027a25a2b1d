// SPDX-License-Identifier: Apache-2.0
#include "core/number_text.h"

#include <fmt/format.h>

#include <cmath>

namespace lime {

NumberText number_text(double value, int decimals) {
  constexpr int kSignificant = 2;
  constexpr double kLeastFixed = 1e-4;
  const double size = std::abs(value);
  if (size == 0.0) return {fmt::format("{:.{}f}", 0.0, decimals)};  // without the sign of -0
  if (!std::isfinite(value) || size >= std::pow(10.0, -decimals)) {
    return {fmt::format("{:.{}f}", value, decimals)};
  }
  const auto exponent = static_cast<int>(std::floor(std::log10(size)));
  if (size >= kLeastFixed) return {fmt::format("{:.{}f}", value, kSignificant - 1 - exponent)};
  const std::string text = fmt::format("{:.{}e}", value, kSignificant - 1);
  const std::size_t mark = text.find('e');
  return {text.substr(0, mark), std::stoi(text.substr(mark + 1))};
}

std::string decimal_text(double value, int decimals) {
  const NumberText text = number_text(value, decimals);
  return text.exponent == 0 ? text.digits : fmt::format("{}e{:+03}", text.digits, text.exponent);
}

std::string with_commas(double value) {
  std::string text = fmt::format("{:.0f}", value);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3;) text.insert(i -= 3, 1, ',');
  return text;
}

}  // namespace lime
