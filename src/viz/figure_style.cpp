// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_style.h"

#include <charconv>

#include "core/errors.h"

namespace lime {
namespace {

struct NamedSize {
  std::string_view name;
  FigureSize size;
};

// Text widths of the venues' LaTeX classes, 1 in = 25.4 mm.
constexpr std::array<NamedSize, 7> kSizes = {{
    {"acl-column", {77.0, std::nullopt}},       // acl.sty: columns of 7.7 cm
    {"acl-page", {160.0, std::nullopt}},        // text width of 16 cm
    {"icml-column", {82.55, std::nullopt}},     // icml.sty: 3.25 in
    {"icml-page", {171.45, std::nullopt}},      // 6.75 in
    {"neurips", {139.7, std::nullopt}},         // neurips.sty: 5.5 in
    {"a4-page", {170.0, std::nullopt, 257.0}},  // A4 with margins of 2 cm
    {"slide", {254.0, 142.9}},                  // 16:9 as in presentation programs
}};

/// Parses all of `text` as a number > 0.
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
  throw InvalidArgument("size: expected auto, {}or millimetres, e.g. 120 or 120x80, got '{}'",
                        names, text);
}

FigureSize figure_size(const FigureStyle& style, bool is_wide) {
  if (style.size == "auto") return figure_size(is_wide ? "acl-page" : "acl-column");
  return figure_size(style.size);
}

void FigureStyle::describe(OptionList& list) {
  list.group("Style");
  list.add("size", size,
           "auto, acl-column, acl-page, icml-column, icml-page, neurips, a4-page, slide, or "
           "millimetres, e.g. 120 or 120x80");
  list.add("font", font, "font family");
  list.add("font_size", font_size, "size of axis labels in pt");
  list.add("palette", palette, "colours of models and classes");
  list.add("map_palette", map_palette, "colours of heatmaps");
  list.add("theme", theme, "light or dark background");
  list.add("panel_letters", panel_letters, "label the panels a, b, c");
  list.add("title", title, "title above the figure");
  list.add("dpi", dpi, "dots per inch of PNG and of rasterized points");
  list.add("rasterize", rasterize, "rasterize scatter plots inside PDF and SVG");
}

void FigureStyle::validate() const {
  figure_size(*this, false);
  if (!(font_size >= 2.0 && font_size <= 72.0)) {
    throw InvalidArgument("font_size: must be in [2, 72] pt, got {}", font_size);
  }
  if (dpi < 30 || dpi > 2400) throw InvalidArgument("dpi: must be in [30, 2400], got {}", dpi);
  if (font.empty()) throw InvalidArgument("font: expected a font family, got ''");
}

}  // namespace lime
