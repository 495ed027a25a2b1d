// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "analysis/audit/audit_variants.h"
#include "analysis/report/report.h"

namespace lime {

/// Fills a report of an audit: a table per site with a line per measure that moves and a column per
/// variant, then what nothing moves, and the transforms that are not exact.
void fill_audit_report(Report& report, const AuditOptions& options,
                       const std::vector<RefusedTransform>& refused);

}  // namespace lime
