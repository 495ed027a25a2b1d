// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/attention/attention_analysis.h"
#include "analysis/report/results_output.h"

namespace lime {

/// Fills the report of prepare_attention(): a line per layer and head, and the patterns of a
/// sequence as heatmaps if there are few.
void fill_attention_report(Report& report, const AttentionOptions& options);

}  // namespace lime
