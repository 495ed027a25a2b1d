// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/geometry/geometry_analysis.h"
#include "metrics/geometry/intrinsic_dimension.h"
#include "metrics/geometry/layer_geometry.h"

namespace lime {

struct MeasuredLayer {
  LayerGeometry geometry;
  std::optional<IntrinsicDimension> dimension;
  std::optional<ViewMeasures> views;
};

/// Returns one row per measure. Measures of sequences have samples if every sequence has a value;
/// measures of rows have them, an interval and stderr if `without` holds the layer without each
/// block of sequences (jackknife()).
UnitResult geometry_result(const MeasuredLayer& layer, const std::vector<MeasuredLayer>& without,
                           const GeometryAnalysisOptions& options);

/// @param inputs  a line about the sequences of each input.
void fill_geometry_report(Report& report, const std::vector<std::string>& inputs,
                          const GeometryAnalysisOptions& options);

}  // namespace lime
