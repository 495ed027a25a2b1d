// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "explorer/models/figures.h"

namespace lime::explorer {

/// Draws accuracies over layers, a curve per source and a panel per depth: of separability
/// with its controls, of minimal pairs the mean over tasks, or one task. Nothing where no source
/// has the site and the task.
/// @param task  of minimal pairs; empty: the mean
FigureOrMessage probeCurves(std::span<const FigureSource> sources, const std::string& site,
                            const std::string& task, int layer_base);

}  // namespace lime::explorer
