// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/entropy/entropy_analysis.h"

namespace lime {

/// Adds to the rows of prepare_entropy() what people need to read them: what was computed of what,
/// in which unit, what the interval is, and the ceiling of every block.
Report make_entropy_report(Results results, const std::vector<ChosenCapture>& captures,
                           const EntropyAnalysisOptions& options);

}  // namespace lime
