// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "explorer/models/workspace.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {

/// A figure, or the message in its place.
struct FigureOrMessage {
  std::optional<Figure> figure = {};
  QString message = {};  ///< why it cannot be drawn; empty with a figure or nothing to show
  QString nothing = {};  ///< why there is nothing to show; empty if there are no results
};

/// Draws `sources` with make_figure(), and returns every Error that it throws as the message. No
/// sources, or sources with nothing to show (NothingToShow), give neither figure nor message: the
/// view knows whether they are still being measured, and shows `nothing` if they are not.
inline FigureOrMessage figureOrMessage(std::span<const FigureSource> sources,
                                       const FigureOptions& options) {
  if (sources.empty()) return {};
  try {
    return {.figure = make_figure(sources, options)};
  } catch (const NothingToShow& nothing) {
    return {.nothing = toQString(nothing)};
  } catch (const Error& error) {
    return {.message = toQString(error)};
  }
}

/// Models have colours that lines on white and on black can have: not the last, yellow.
inline constexpr int kModelColours = 6;
inline constexpr std::array kModelPatterns = {LinePattern::kSolid, LinePattern::kDashed,
                                              LinePattern::kDashDotted};

/// Returns the class number of the model with this number of Workspace::colourOf().
inline std::size_t modelColour(int number) {
  return static_cast<std::size_t>(number % kModelColours);
}

/// Gives curves the colours of their models, if all of them are of models: they are named "MODEL",
/// "MODEL (DOCUMENT)" or "MODEL, CONTROL". Curves of one colour differ in their dashes.
inline void colourModels(std::span<FigurePanel> panels, const Workspace& workspace) {
  std::vector<std::tuple<Curve*, int, LinePattern>> coloured;
  for (FigurePanel& panel : panels) {
    auto* const curves = std::get_if<CurvePanel>(&panel.content);
    std::array<std::size_t, kModelColours> counts = {};
    for (std::size_t i = 0; curves != nullptr && i < curves->curves.size(); ++i) {
      Curve& curve = curves->curves[i];
      if (curve.style.colour == kMutedColour) continue;
      const QString label = toQString(curve.label).section(u", "_s, 0, 0);
      int colour = workspace.colourOf(label);
      if (colour < 0) colour = workspace.colourOf(label.section(u" ("_s, 0, 0));
      if (colour < 0) return;
      LinePattern pattern = curve.style.pattern;
      if (pattern == LinePattern::kSolid) {
        pattern = kModelPatterns[counts[modelColour(colour)]++ % kModelPatterns.size()];
      }
      coloured.emplace_back(&curve, colour, pattern);
    }
  }
  for (const auto& [curve, colour, pattern] : coloured) {
    curve->style.colour = modelColour(colour);
    curve->style.pattern = pattern;
  }
}

/// Returns the curve under the pointer, nullptr where there is none. @param figure  may be null
inline const Curve* curveAt(const Figure* figure, const FigureHit& hit) {
  if (figure == nullptr || !hit.point) return nullptr;
  const auto* const panel = std::get_if<CurvePanel>(&figure->panels[hit.panel].content);
  return panel == nullptr ? nullptr : &panel->curves[hit.point->series];
}

/// Describes the point of a curve over layers: "lime, layer 3: entropy 2.5 [2.1, 2.9]"; empty where
/// there is none.
inline QString describeCurvePoint(const Figure* figure, const FigureHit& hit,
                                  const QString& quantity) {
  const Curve* const curve = curveAt(figure, hit);
  if (curve == nullptr) return {};
  const std::size_t at = hit.point->index;
  const QString text = u"%1, layer %2: %3 %4"_s.arg(toQString(curve->label))
                           .arg(curve->x[at])
                           .arg(quantity)
                           .arg(curve->y[at], 0, 'g', 5);
  if (at >= curve->low.size()) return text;
  return text + u" [%1, %2]"_s.arg(curve->low[at], 0, 'g', 5).arg(curve->high[at], 0, 'g', 5);
}

}  // namespace lime::explorer
