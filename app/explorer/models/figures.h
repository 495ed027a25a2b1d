// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <optional>
#include <span>

#include "viz/figure.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {

/// A figure, or the message in its place.
struct FigureOrMessage {
  std::optional<Figure> figure = {};
  QString message = {};  ///< why it cannot be drawn; empty with a figure or nothing to show
};

/// Draws `sources` with make_figure(), and returns every Error that it throws as the message. No
/// sources, or sources with nothing to show (NothingToShow), give neither figure nor message: the
/// view knows whether they are still being measured.
FigureOrMessage figureOrMessage(std::span<const FigureSource> sources,
                                const FigureOptions& options);

/// Returns the curve under the pointer, nullptr where there is none. @param figure  may be null
const Curve* curveAt(const Figure* figure, const FigureHit& hit);

/// Describes the point of a curve over layers: "lime, layer 3: entropy 2.5 [2.1, 2.9]"; empty where
/// there is none.
QString describeCurvePoint(const Figure* figure, const FigureHit& hit, const QString& quantity);

}  // namespace lime::explorer
