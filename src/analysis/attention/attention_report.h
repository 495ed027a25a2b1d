// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/attention/attention_analysis.h"
#include "analysis/report/results_output.h"

namespace lime {

/// Adds to the rows of prepare_attention() what people need to read them: a line per layer and
/// head, and the patterns of a sequence as maps where there are few of them.
Report make_attention_report(Results results, const AttentionOptions& options);

}  // namespace lime
