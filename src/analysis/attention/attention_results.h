// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/attention/attention_analysis.h"
#include "analysis/attention/attention_exploration.h"
#include "analysis/report/results_output.h"

namespace lime {

/// One capture and the selected part of its patterns.
struct SelectedPatterns {
  explicit SelectedPatterns(const CaptureReader& reader) : patterns(reader) {}

  PatternReader patterns;
  std::vector<int> heads;
  std::int64_t num_sequences = 0;  ///< used by summaries
};

/// Returns rows of kind `head` and `layer` of one layer, with samples of the layer.
UnitResult summarize_sequences(const SelectedPatterns& selected, int layer,
                               const AttentionOptions& options, const UnitContext& context);

/// Returns rows of kind `head`, `layer`, `weight` and `routed` of the sequence of `options`.
UnitResult describe_sequence(const SelectedPatterns& selected, int layer,
                             const AttentionOptions& options);

void fill_attention_report(Report& report, const AttentionOptions& options);

}  // namespace lime
