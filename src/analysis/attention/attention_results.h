// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attention/attention_analysis.h"
#include "analysis/attention/attention_patterns.h"
#include "analysis/report/report.h"
#include "core/matrix.h"

namespace lime {

/// One capture and the selected part of its patterns.
struct SelectedPatterns {
  explicit SelectedPatterns(const CaptureReader& reader) : patterns(reader) {}

  PatternReader patterns;
  std::vector<int> heads;
  std::int64_t num_sequences = 0;  ///< used by summaries
};

/// Measures of some items (sequences or queries), and of even attention.
struct AttentionItems {
  std::vector<MatrixD> values;  ///< of each item, [heads, measures]
  MatrixD even;                 ///< [items, measures]

  AttentionItems(std::int64_t count, std::int64_t num_heads);

  /// Sets the means of a sequence over its queries but the first `skipped`.
  /// @param profiles  attention_profile() of each head, [tokens, measures]
  void set(std::int64_t index, const std::vector<MatrixD>& profiles, std::int64_t skipped);
  /// Sets such means of a sequence of `num_tokens`. @param means  [heads, measures]
  void set(std::int64_t index, MatrixD means, std::int64_t num_tokens, std::int64_t skipped);
};

/// Returns rows of kind `head` and `layer` of sequences, with samples of the layer.
/// @param heads  numbers of the heads of `items`
UnitResult attention_result(const AttentionItems& items, const std::vector<int>& heads,
                            const AttentionOptions& options);

/// Returns attention_result() of one layer of a capture.
UnitResult summarize_sequences(const SelectedPatterns& selected, int layer,
                               const AttentionOptions& options, const UnitContext& context);

/// Returns rows of kind `head`, `layer`, `weight` and `routed` of the sequence of `options`.
UnitResult describe_sequence(const SelectedPatterns& selected, int layer,
                             const AttentionOptions& options);

void fill_attention_report(Report& report, const AttentionOptions& options);

}  // namespace lime
