// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/geometry/geometry_options.h"
#include "analysis/report/results_output.h"

namespace lime {

/// Adds to the rows of prepare_geometry() what people need to read them. One capture gets a table
/// per group of measures, layers down and measures across; several stand side by side, a table per
/// measure.
Report make_geometry_report(Results results, const std::vector<ChosenCapture>& captures,
                            const GeometryAnalysisOptions& options);

}  // namespace lime
