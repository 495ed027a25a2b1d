// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

namespace lime {

/// Which columns of the rows make a curve over layers.
struct LayerCurves {
  std::string value = "mean";
  std::string low = "ci_low";  ///< and high: of the band or bars; empty: none
  std::string high = "ci_high";
  std::string deviation = {};  ///< instead of low and high: value -+ this column
  Curve::Spread spread = Curve::Spread::kBand;
  std::string ceiling = {};  ///< column of a bound to draw, if all rows of a panel agree
  std::string ceiling_label = {};
  std::string y_label;
};

/// A panel per site, a curve per model (and per text under `split`, e.g. the order alpha).
/// Layers without a row leave a gap.
Figure layer_curves(const std::vector<FigureRow>& rows, const LayerCurves& columns,
                    const FigureOptions& options);

}  // namespace lime
