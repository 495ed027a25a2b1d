// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/counterfactual/counterfactual_options.h"
#include "analysis/engine/analysis.h"
#include "analysis/engine/run_options.h"

namespace lime {

/// Prepares the measurement of routed values under counterfactual routers.
///
/// Routing is linear and each layer's is one matrix: from a capture of the values of all layers,
/// the routed values under any router follow without the model. Routers are replaced one layer at a
/// time; earlier layers keep their captured values.
///
/// One row per layer, router and quantity (entropy, effective_rank; separability where the capture
/// has classes): label, site, layer, router, quantity, alpha, mean, std, ci_low, ci_high, n,
/// ceiling, and the paired difference to the trained router: difference, difference_low,
/// difference_high. With `against` also rows with `part` (projections, mixing, gap) of
///
///   LIMe - LLaMA = [LIMe under the identity - LLaMA] + [LIMe - LIMe under the identity]
///
/// and rows of both kinds for the mean over layers, whose `layer` is null. docs/counterfactual.md.
///
/// Streams: only a block of sequences of one layer's sources is in memory.
/// @throws InvalidArgument  if a capture holds pooled rows, lacks layers or routers, or the two
///                          hold different tokens.
/// @throws IoError, FormatError  as CaptureReader.
Analysis prepare_counterfactual(const CounterfactualAnalysisOptions& options,
                                const RunOptions& run);

}  // namespace lime
