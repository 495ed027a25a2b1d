// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "analysis/engine/analysis.h"
#include "metrics/summary.h"

namespace lime {

/// Site of the logit lens, which a capture computes (docs/capture_format.md).
inline constexpr const char* kLensSite = "logit_lens";

struct LensOptions {
  CaptureSetOptions captures;  ///< its sites are not described
  std::filesystem::path tuned;
  double ridge = 1e-3;
  SummaryOptions summary;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the summary of the logit lens, with one unit per capture and layer, and a row per
/// measure: the mean over the tokens of each sequence but the last, which has no next one, then
/// over the sequences: kl_to_final, entropy, agreement, loss, rank, and accuracy (rank 1).
/// @throws InvalidArgument  if a capture lacks the site or whole sequences.
Analysis prepare_lens(const LensOptions& options, const RunOptions& run);

}  // namespace lime
