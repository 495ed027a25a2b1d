// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/written_figure.h"

#include <string>
#include <utility>
#include <vector>

namespace lime::explorer {
namespace {

Curve curveOf(const std::string& name, const std::vector<double>& values, std::size_t colour,
              int layer_base) {
  Curve curve;
  curve.label = name;
  for (std::size_t layer = 0; layer < values.size(); ++layer) {
    curve.x.push_back(static_cast<double>(layer) + layer_base);
    curve.y.push_back(values[layer]);
  }
  curve.style = {.colour = colour == kMutedColour ? colour : group_colour(colour),
                 .marker = MarkerShape::kNone};
  if (colour == kMutedColour) curve.style.pattern = LinePattern::kDashed;
  return curve;
}

/// Colours of the parts, the same in both panels: sweeps list attention first.
enum PartColour : std::size_t { kAttentionColour, kMlpColour, kBothColour };

FigurePanel normPanel(const WrittenNorms& norms, int layer_base) {
  CurvePanel curves;
  const auto add = [&](const std::string& name, const std::vector<double>& values,
                       std::size_t colour) {
    if (!values.empty()) curves.curves.push_back(curveOf(name, values, colour, layer_base));
  };
  add("attention", norms.attention, kAttentionColour);
  add("mlp", norms.mlp, kMlpColour);
  if (norms.attention.empty() || norms.mlp.empty()) add("both together", norms.both, kBothColour);
  add("residual stream", norms.stream, kMutedColour);
  return {.title = "what each part writes",
          .x = {.label = "layer", .whole_numbers = true},
          .y = {.label = "norm, median over tokens", .logarithmic = true},
          .content = std::move(curves)};
}

}  // namespace

FigureOrMessage writtenFigure(const WrittenNorms* norms, std::span<const FigureSource> sweeps,
                              int layer_base) {
  Figure figure;
  figure.name = "router-written";
  if (norms != nullptr) {
    FigurePanel panel = normPanel(*norms, layer_base);
    if (!std::get<CurvePanel>(panel.content).curves.empty()) figure.panels.push_back(panel);
  }
  if (!sweeps.empty()) {
    FigureOptions options;
    options.kind = "sweep";
    options.layer_base = layer_base;
    FigureOrMessage effects = figureOrMessage(sweeps, options);
    if (effects.figure) {
      for (FigurePanel& panel : effects.figure->panels) {
        if (!std::holds_alternative<CurvePanel>(panel.content)) continue;
        panel.title = "what the loss is without it";
        panel.y.label = "change in loss (nats per token)";
        figure.panels.push_back(std::move(panel));
      }
      figure.note = effects.figure->note;
    }
  }
  if (figure.panels.empty()) return {};
  figure.columns = static_cast<int>(figure.panels.size());
  figure.panel_aspect = figure.panels.size() == 1 ? 0.5 : 0.8;
  figure.is_wide = true;
  return {.figure = std::move(figure)};
}

void colourParts(Figure& figure, std::size_t model_colour) {
  for (FigurePanel& panel : figure.panels) {
    for (Curve& curve : std::get<CurvePanel>(panel.content).curves) {
      if (!is_group_colour(curve.style.colour)) continue;
      curve.style.pattern = curve.style.colour == group_colour(kMlpColour) ? LinePattern::kDotted
                                                                           : LinePattern::kSolid;
      curve.style.colour = model_colour;
    }
  }
}

}  // namespace lime::explorer
