// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/geometry/geometry_options.h"
#include "analysis/report/results_output.h"

namespace lime {

/// Fills the report of prepare_geometry(). A single capture gets one table per group of measures
/// (rows: layers, columns: measures); several captures get one table per measure.
void fill_geometry_report(Report& report, const std::vector<ChosenCapture>& captures,
                          const GeometryAnalysisOptions& options);

}  // namespace lime
