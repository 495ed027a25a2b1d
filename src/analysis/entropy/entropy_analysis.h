// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/summary.h"
#include "store/capture_info.h"

namespace lime {

struct EntropyAnalysisOptions {
  /// With max_sequences, lime-code still standardises with the whole capture, as in the LIMe code.
  CaptureSetOptions captures;
  EntropyOptions entropy;
  SummaryOptions summary;
  std::vector<RowKind> dataset;
  /// Results are equal up to rounding, so it is stored with the options.
  std::string device = "cpu";

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  /// @throws InvalidArgument  also if diff-erank gets other than two captures.
  void validate() const;
};

/// Prepares the matrix-based Renyi entropy of every sequence of some captures, layer by layer, with
/// one row per order (docs/results_format.md, docs/numerics.md). The samples are the sequences'
/// entropies. The preset diff-erank takes two captures of the same sequences, untrained and
/// trained, and adds rows for their difference.
///
/// Streams: one sequence per thread is in memory, and with a GPU two batches in its memory.
/// @throws InvalidArgument  if a capture holds pooled rows or only some tokens, a sequence of one
///                          token, or lacks a site or layer.
Analysis prepare_entropy(const EntropyAnalysisOptions& options, const RunOptions& run);

}  // namespace lime
