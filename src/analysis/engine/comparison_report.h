// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/comparison.h"
#include "analysis/report/report.h"

namespace lime {

/// Adds the tables of sample_rows() that `options` request to a report: differences of captures,
/// and means over layers or training runs, which replace the table per layer.
void add_sample_sections(Report& report, const CompareOptions& options);

}  // namespace lime
