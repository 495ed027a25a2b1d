// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/analysis.h"
#include "analysis/engine/run_options.h"
#include "analysis/separability/separability_options.h"

namespace lime {

/// Prepares the accuracy with which a linear classifier distinguishes words, layer by layer.
///
/// One unit per capture, site and layer, and in it one row per method and labelling, `labels` being
/// "words" or the name of a control: mean, std (ddof 0) and n of the folds' accuracies, and what
/// docs/separability.md lists. The samples are the folds' accuracies.
///
/// A layer's rows are kept in memory (docs/separability.md gives the size).
/// @throws InvalidArgument  as make_separability_task().
Analysis prepare_separability(const SeparabilityOptions& options, const RunOptions& run);

}  // namespace lime
