// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/analysis.h"
#include "analysis/engine/run_options.h"
#include "analysis/entropy/entropy_analysis_options.h"

namespace lime {

/// Prepares the matrix-based Renyi entropy of every sequence of some captures, layer by layer,
/// summed up over the sequences.
///
/// One unit per capture, site and layer, and in it one row per order: alpha, preset, unit, mean,
/// std, ci_low, ci_high, n, tokens and tokens_min (mean and smallest over the sequences), dim,
/// ceiling and ceiling_min (likewise); with top_k also lower, upper and left_out. The samples are
/// the sequences' entropies. The preset diff-erank takes two captures of the same sequences,
/// untrained and trained, and adds rows for their difference, sequence by sequence.
/// docs/results_format.md and docs/numerics.md have the details.
///
/// Streams: as many sequences as there are threads lie in memory, or with a GPU two batches of
/// them.
/// @throws InvalidArgument  if a capture holds pooled rows or only some tokens, a sequence of one
///                          token, or lacks a site or layer.
/// @throws IoError, FormatError  as CaptureReader; as Gpu.
Analysis prepare_entropy(const EntropyAnalysisOptions& options, const RunOptions& run);

}  // namespace lime
