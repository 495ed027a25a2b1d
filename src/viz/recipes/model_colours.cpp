// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/model_colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <variant>

#include "core/errors.h"

namespace lime {
namespace {

constexpr std::array kModelPatterns = {LinePattern::kSolid, LinePattern::kDashed,
                                       LinePattern::kDashDotted};

/// Calls `visit` with the style of every curve and series of bars.
template <typename Panel, typename Visit> void visit_styles(Panel& panel, const Visit& visit) {
  if (auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
    for (auto& curve : curves->curves) visit(curve.style);
  } else if (auto* const bars = std::get_if<BarPanel>(&panel.content)) {
    for (auto& series : bars->series) visit(series.style);
  }
}

}  // namespace

std::vector<std::size_t> colours_in_order(std::span<const FigurePanel> panels) {
  std::vector<std::size_t> colours;
  for (const FigurePanel& panel : panels) {
    visit_styles(panel, [&](const SeriesStyle& style) {
      const bool is_new = std::ranges::find(colours, style.colour) == colours.end();
      if (is_class_colour(style.colour) && is_new) colours.push_back(style.colour);
    });
  }
  return colours;
}

void dash_equal_colours(FigurePanel& panel, const std::vector<std::size_t>& models) {
  auto* const curves = std::get_if<CurvePanel>(&panel.content);
  if (curves == nullptr) return;
  std::map<std::size_t, std::vector<std::size_t>> of_colour;  // models, in the order of the curves
  for (std::size_t i = 0; i < curves->curves.size(); ++i) {
    SeriesStyle& style = curves->curves[i].style;
    if (!is_class_colour(style.colour) || style.pattern != LinePattern::kSolid) continue;
    std::vector<std::size_t>& earlier = of_colour[style.colour];
    const auto own = std::ranges::find(earlier, models[i]);
    const auto number = static_cast<std::size_t>(own - earlier.begin());
    if (own == earlier.end()) earlier.push_back(models[i]);
    style.pattern = kModelPatterns[number % kModelPatterns.size()];
  }
}

void recolour(Figure& figure, const std::vector<int>& colors) {
  const std::vector<std::size_t> before = colours_in_order(figure.panels);
  throw_if(colors.size() < before.size(), OptionName("colors"),
           "expected a colour for each of {} models, got {}", before.size(), colors.size());
  for (FigurePanel& panel : figure.panels) {
    std::vector<std::size_t> models;
    visit_styles(panel, [&](SeriesStyle& style) {
      models.push_back(style.colour);
      if (!is_class_colour(style.colour)) return;
      const auto place = std::ranges::find(before, style.colour) - before.begin();
      style.colour = static_cast<std::size_t>(colors[static_cast<std::size_t>(place)] - 1);
    });
    dash_equal_colours(panel, models);
  }
}

}  // namespace lime
