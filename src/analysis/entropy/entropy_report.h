// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/entropy/entropy_analysis.h"

namespace lime {

/// Fills the report of prepare_entropy(): definition and unit of the entropy, inputs, type of the
/// interval, and the ceiling of every block.
void fill_entropy_report(Report& report, const std::vector<ChosenCapture>& captures,
                         const EntropyAnalysisOptions& options);

}  // namespace lime
