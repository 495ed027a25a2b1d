// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "viz/figure.h"
#include "viz/figure_hit.h"

namespace lime::explorer {

/// Returns the curve under the pointer, nullptr where there is none. @param figure  may be null
const Curve* curveAt(const Figure* figure, const FigureHit& hit);

/// Describes the point of a curve over layers: "lime, layer 3: entropy 2.5 [2.1, 2.9]"; empty where
/// there is none.
QString describeCurvePoint(const Figure* figure, const FigureHit& hit, const QString& quantity);

}  // namespace lime::explorer
