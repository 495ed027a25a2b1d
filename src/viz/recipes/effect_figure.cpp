// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/effect_figure.h"

#include "viz/recipes/figure_parts.h"

namespace lime {

Figure mass_effect_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, "effect"}});
  throw_if<NothingToShow>(rows.empty(),
                          "figure: the results contain no effects; add --effects with the results "
                          "of lime-capture sweep");
  constexpr std::size_t kMaxCurves = 8;
  Figure figure;
  for (const auto& [label, weighting] : distinct_texts(rows, col::kLabel, col::kWeighting)) {
    const FigureRows own = rows_with(rows, {{col::kLabel, label}, {col::kWeighting, weighting}});
    const std::vector<int> layers = distinct_values(
        own, [](const FigureRow& row) { return row.index(col::kLayer, kMaxLayers); });
    CurvePanel panel;
    std::size_t colour = 0;
    for (const int layer : layers) {
      Curve curve{.label = fmt::format("layer {}", layer + options.layer_base),
                  .x = {},
                  .y = {},
                  .low = {},
                  .high = {},
                  .spread = Curve::Spread::kBars,
                  .style = group_style(colour++)};
      if (layers.size() > kMaxCurves) {
        curve.style = group_style(0);
        curve.legend = "component of a layer";
      }
      curve.style.pattern = LinePattern::kNone;
      for (const FigureRow& row : own) {
        if (row.index(col::kLayer, kMaxLayers) != layer) continue;
        curve.x.push_back(row.number(col::kMass));
        curve.y.push_back(row.number(col::kEffect));
        curve.low.push_back(row.number(col::kEffect.low));
        curve.high.push_back(row.number(col::kEffect.high));
      }
      panel.curves.push_back(std::move(curve));
    }
    panel.references.push_back({.y = 0.0, .is_zero = true});
    const char* const mass = own.front().has(col::kExpert)   ? "load"
                             : own.front().has(col::kStream) ? "energy"
                                                             : "routing weight";
    figure.panels.push_back({.title = joined_parts({label, weighting == "none" ? "" : weighting}),
                             .x = {.label = fmt::format("{} (fraction)", mass)},
                             .y = {.label = "effect (nats per token)"},
                             .content = std::move(panel)});
  }
  lay_out(figure, options, 0, 3);
  figure.note = intervals_note(figure, sources);
  return figure;
}

}  // namespace lime
