// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "store/results/column.h"

namespace lime {

/// Kinds of the rows of an audit: values of each variant, and (without a kind) their changes.
inline constexpr const char* kAuditedValue = "value";

/// Measure of rows whose value is a text, the verdict of a collapse analysis.
inline constexpr const char* kVerdictMeasure = "verdict";

/// Columns that say what of a model a value is of: site, layer, head, ...
const std::vector<Column>& audit_place_columns();

}  // namespace lime
