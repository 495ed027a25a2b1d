// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/report/results_output.h"
#include "analysis/similarity/similarity_analysis.h"

namespace lime {

/// Adds to the rows of prepare_similarity() what people need to read them: a map per site and pair
/// of captures.
Report make_similarity_report(Results results, const std::vector<ChosenCapture>& captures,
                              const SimilarityAnalysisOptions& options);

}  // namespace lime
