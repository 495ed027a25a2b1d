// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/collapse/collapse_rows.h"
#include "analysis/engine/analysis.h"
#include "metrics/collapse/collapse_verdict.h"

namespace lime {

struct CollapseAnalysisOptions {
  CaptureSetOptions captures;
  /// Capture of the same text and config with random weights; empty: none.
  std::filesystem::path random;
  /// Makes such a capture of `checkpoint` beside the first one; see random_capture().
  bool against_random = false;
  std::filesystem::path checkpoint;  ///< whose tokenizer decodes token ids; empty: ids only
  CollapseOptions collapse;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the verdict on every layer: which causes make its representations look collapsed, alone
/// and without the others, and one sentence for each range of layers with the same causes
/// (docs/collapse.md). One unit per capture, site and layer; the layers are read once.
/// @throws InvalidArgument  if a capture contains pooled rows, only some tokens, or no sequence of
///         two tokens; or if the random capture has another text or other layers.
Analysis prepare_collapse(const CollapseAnalysisOptions& options, const RunOptions& run);

/// The results of a collapse analysis, and its verdicts.
struct CollapseVerdicts {
  Results results;
  std::vector<RangeVerdict> ranges;
  std::vector<std::string> caveats;  ///< what the measurement cannot decide
};

/// How to compare with random weights, in the words of the command line.
inline constexpr std::string_view kRandomOption = "--against-random, or --random FILE";

/// Computes what prepare_collapse() prepares.
/// @param random_option  how to compare with random weights, in the words of the caller
/// @throws as prepare_collapse() and compute()
CollapseVerdicts compute_collapse(const CollapseAnalysisOptions& options, const RunOptions& run,
                                  const ProgressFn& on_progress = {},
                                  const std::stop_token& stop = {},
                                  std::string_view random_option = kRandomOption);

}  // namespace lime
