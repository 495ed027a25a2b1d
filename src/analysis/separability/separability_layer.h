// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "analysis/engine/analysis.h"
#include "analysis/separability/separability_task.h"

namespace lime {

/// Fits the probes of one site and layer: a row and samples per method and labelling.
/// @param rows  [rows of the task, dim]. @param seed  of controls and of initial weights
UnitResult probe_layer(const SeparabilityTask& task, const SeparabilityOptions& options,
                       std::uint64_t seed, const MatrixF& rows, const UnitContext& context);

/// Returns the peak memory of probe_layer() in bytes, including its rows.
std::int64_t bytes_of_layer(const SeparabilityTask& task, const SeparabilityOptions& options,
                            std::int64_t dim);

}  // namespace lime
