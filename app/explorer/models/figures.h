// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "explorer/models/workspace.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"
#include "viz/recipes/model_colours.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {

/// A figure, or the message in its place.
struct FigureOrMessage {
  std::optional<Figure> figure = {};
  QString message = {};      ///< why it cannot be drawn; empty with a figure or nothing to show
  QString nothing = {};      ///< why there is nothing to show; empty if there are no results
  QStringList colours = {};  ///< options of lime-figure for the same colours
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
/// Returns the class number of the model with this number of Workspace::colourOf().
inline std::size_t modelColour(int number) {
  return static_cast<std::size_t>(number % kModelColours);
}

/// Gives curves the colours of their models, if all of them are of models: they are named "MODEL",
/// "MODEL (DOCUMENT)" or "MODEL, CONTROL". Models of one colour differ in their dashes.
/// @return the options of lime-figure that do so; empty if the colours are the usual ones
inline QStringList colourModels(std::span<FigurePanel> panels, const Workspace& workspace) {
  std::vector<std::pair<Curve*, std::size_t>> coloured;
  const std::vector<std::size_t> usual = colours_in_order(panels);
  std::vector<std::size_t> ours(usual.size());
  for (FigurePanel& panel : panels) {
    auto* const curves = std::get_if<CurvePanel>(&panel.content);
    for (std::size_t i = 0; curves != nullptr && i < curves->curves.size(); ++i) {
      Curve& curve = curves->curves[i];
      if (!is_class_colour(curve.style.colour)) continue;
      const QString label = toQString(curve.label);
      int number = workspace.colourOf(label);
      if (number < 0) number = workspace.colourOf(label.section(u", "_s, 0, 0));
      if (number < 0) number = workspace.colourOf(label.section(u" ("_s, 0, 0));
      if (number < 0) return {};
      coloured.emplace_back(&curve, modelColour(number));
      const auto place = std::ranges::find(usual, curve.style.colour) - usual.begin();
      ours[static_cast<std::size_t>(place)] = modelColour(number);
    }
  }
  for (FigurePanel& panel : panels) {
    auto* const curves = std::get_if<CurvePanel>(&panel.content);
    if (curves == nullptr) continue;
    std::vector<std::size_t> models;
    for (std::size_t i = 0; i < curves->curves.size(); ++i) models.push_back(i);
    for (const auto& [curve, colour] : coloured) {
      const bool is_here =
          curve >= curves->curves.data() && curve < curves->curves.data() + curves->curves.size();
      if (is_here) curve->style.colour = colour;
    }
    dash_equal_colours(panel, models);
  }
  if (coloured.empty() || ours == usual) return {};
  QStringList numbers;
  for (const std::size_t colour : ours) numbers << QString::number(colour + 1);
  return {u"--colors"_s, numbers.join(u',')};
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
