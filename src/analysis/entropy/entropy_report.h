// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/entropy/entropy_analysis.h"

namespace lime {

/// Makes the report of prepare_entropy(): definition and unit of the entropy, inputs, type of the
/// interval, and the ceiling of every block.
Report make_entropy_report(Results results, const std::vector<ChosenCapture>& captures,
                           const EntropyAnalysisOptions& options);

}  // namespace lime
