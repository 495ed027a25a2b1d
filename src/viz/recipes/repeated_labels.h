// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "viz/figure_source.h"

namespace lime {

/// Returns the sources with labels that tell apart results of one model that were measured without
/// different rows or dimensions: "llama" and "llama, without massive tokens". They then share a
/// panel. Sources whose labels differ, or whose options do not, are unchanged; nothing if all are.
std::optional<std::vector<FigureSource>> with_distinct_labels(FigureSources sources);

}  // namespace lime
