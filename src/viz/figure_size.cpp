// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_size.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>

#include "core/errors.h"

namespace lime {
namespace {

struct NamedSize {
  std::string_view name;
  FigureSize size;
};

// Text widths of the venues' LaTeX classes, 1 in = 25.4 mm.
constexpr std::array<NamedSize, 9> kSizes = {{
    {"acl-column", {77.0, std::nullopt}},       // acl.sty: columns of 7.7 cm
    {"acl-page", {160.0, std::nullopt}},        // text width of 16 cm
    {"icml-column", {82.55, std::nullopt}},     // icml.sty: 3.25 in
    {"icml-page", {171.45, std::nullopt}},      // 6.75 in
    {"neurips", {139.7, std::nullopt}},         // neurips.sty: 5.5 in
    {"iclr", {139.7, std::nullopt}},            // iclr_conference.sty: 5.5 in
    {"a4-page", {170.0, std::nullopt, 257.0}},  // A4 with margins of 2 cm
    {"slide", {254.0, 142.9}},                  // 16:9 as in presentation programs
    {"poster", {400.0, std::nullopt}},          // half of the width of A0
}};

std::optional<double> positive(std::string_view text) {
  double value = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  return whole && value > 0.0 && value < 5000.0 ? std::optional(value) : std::nullopt;
}

}  // namespace

FigureSize figure_size(std::string_view text) {
  for (const NamedSize& named : kSizes) {
    if (named.name == text) return named.size;
  }
  const std::size_t cross = text.find('x');
  const std::optional<double> width = positive(text.substr(0, cross));
  if (width && cross == std::string_view::npos) return {*width, std::nullopt};
  if (width) {
    if (const std::optional<double> height = positive(text.substr(cross + 1))) {
      return {*width, *height};
    }
  }
  std::string names;
  for (const NamedSize& named : kSizes) names += fmt::format("{}, ", named.name);
  throw InvalidArgument(OptionName("size"),
                        "expected auto, {}or millimetres, e.g. 120 or 120x80, got '{}'", names,
                        text);
}

}  // namespace lime
