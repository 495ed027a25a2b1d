// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/report/results_output.h"
#include "analysis/similarity/similarity_analysis.h"

namespace lime {

/// Fills the report of prepare_similarity(): a heatmap per site and pair of captures.
void fill_similarity_report(Report& report, const std::vector<ChosenCapture>& captures,
                            const SimilarityAnalysisOptions& options);

}  // namespace lime
