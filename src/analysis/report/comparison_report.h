// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/comparison.h"
#include "analysis/report/results_output.h"

namespace lime {

/// Adds to a report the tables of what `options` asked for: differences of captures, and means over
/// layers, which then stand in place of the table per layer.
void add_sample_sections(Report& report, const CompareOptions& options);

}  // namespace lime
