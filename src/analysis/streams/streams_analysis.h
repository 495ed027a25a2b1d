// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "analysis/engine/analysis.h"
#include "metrics/summary.h"

namespace lime {

inline constexpr const char* kStreamsSite = "hook_streams";
inline constexpr const char* kStreamWeightsSite = "hook_stream_weights";

struct StreamsOptions {
  CaptureSetOptions captures;     ///< its sites are not described
  std::filesystem::path effects;  ///< of lime-capture sweep --over streams; empty: none
  SummaryOptions summary;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the summary of the residual streams of Hyper-Connections, with one unit per capture and
/// layer. docs/streams.md has the measures and the kinds of rows: one without a kind per measure,
/// `stream` with the energy of each stream, `mixing` with the mean weights of a part.
/// @throws InvalidArgument  if a capture has neither streams nor their weights.
Analysis prepare_streams(const StreamsOptions& options, const RunOptions& run);

}  // namespace lime
