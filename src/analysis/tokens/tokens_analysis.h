// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "analysis/engine/analysis.h"

namespace lime {

struct TokensOptions {
  CaptureSetOptions captures;
  std::int64_t sequence = 0;
  double alpha = 0.5;
  bool no_entropy = false;  ///< omits `entropy_contribution`, which takes most of the time
  std::filesystem::path checkpoint = {};

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares statistics of each token of one sequence per layer: norm, relative_norm, next_cosine
/// and, unless omitted, `entropy_contribution`, the decrease of the sequence's entropy if the token
/// is omitted, standardised as the preset lime-code does; if the capture has a logit lens also
/// `lens_probability`, `lens_rank` (of the next token) and `lens_kl`.
/// @throws InvalidArgument  unless the captures hold every token of the sequence, at least two.
Analysis prepare_tokens(const TokensOptions& options, const RunOptions& run);

}  // namespace lime
