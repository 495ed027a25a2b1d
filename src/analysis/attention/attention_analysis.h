// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "analysis/engine/analysis.h"
#include "metrics/summary.h"

namespace lime {

struct AttentionOptions {
  /// Its sites are not described: patterns are in one.
  CaptureSetOptions captures;
  std::vector<int> head;
  std::optional<std::int64_t> sequence = std::nullopt;
  std::optional<std::int64_t> query = std::nullopt;
  std::filesystem::path checkpoint = {};
  std::int64_t skip_queries = 1;
  double sink_threshold = 0.3;
  SummaryOptions summary;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the attention analysis, with one unit per capture and layer. docs/attention.md
/// describes the kinds of rows: `head` and `layer` with the measures of attention_profile(),
/// averaged over queries, then over sequences; with a sequence `weight`, `routed`
/// (routed_attention_of_query()) and `token`. `sink_rate` of layers: Gu et al. (2024),
/// arXiv:2410.10781.
/// @throws InvalidArgument  if a capture lacks patterns or what was selected, or if there would be
///                          more than a million weights.
Analysis prepare_attention(const AttentionOptions& options, const RunOptions& run);

}  // namespace lime
