// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/report/results_output.h"
#include "analysis/similarity/similarity_analysis.h"

namespace lime {

/// Makes the report of prepare_similarity(): a heatmap per site and pair of captures.
Report make_similarity_report(Results results, const std::vector<ChosenCapture>& captures,
                              const SimilarityAnalysisOptions& options);

}  // namespace lime
