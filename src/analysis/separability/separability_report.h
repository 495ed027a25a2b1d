// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/engine/class_rows.h"
#include "analysis/separability/separability_analysis.h"

namespace lime {

/// Fills the report of prepare_separability(): words and their counts, methods, majority baseline,
/// and convergence of the fits.
/// @param chosen  rows of each capture.
void fill_separability_report(Report& report, const std::vector<ChosenCapture>& captures,
                              const std::vector<ClassRows>& chosen,
                              const SeparabilityOptions& options);

}  // namespace lime
