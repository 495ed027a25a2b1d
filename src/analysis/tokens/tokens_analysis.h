// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "analysis/engine/analysis.h"
#include "analysis/engine/capture_set.h"

namespace lime {

/// Options of the token analysis of one sequence.
struct TokensOptions {
  CaptureSetOptions captures;
  /// Number of the sequence in the capture, >= 0.
  std::int64_t sequence = 0;
  /// Order of the entropy that tokens contribute to, > 0; `inf` is allowed.
  double alpha = 0.5;
  /// Checkpoint folder whose tokenizer gives the tokens' texts; empty: ids alone.
  std::filesystem::path checkpoint = {};

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares statistics of each token of one sequence per layer.
///
/// One unit per capture, site and layer, and in it a row per token: `position`, `token`, `text`
/// where a tokenizer is given, `norm`, `relative_norm`, `next_cosine` (null at the last token) and
/// `entropy_contribution`, the decrease of the sequence's entropy if the token is omitted, with
/// dimensions standardised over all rows of the capture as the preset lime-code does. If the
/// capture has a logit lens: `lens_probability`, `lens_rank` (of the next token) and `lens_kl`.
///
/// @throws InvalidArgument  unless the captures hold every token of the sequence, at least two.
/// @throws IoError, FormatError  as CaptureReader.
Analysis prepare_tokens(const TokensOptions& options, const RunOptions& run);

}  // namespace lime
