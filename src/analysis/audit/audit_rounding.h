// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/audit/audit_metric.h"

namespace lime {

/// Returns the relative change of a measurement that rounding may cause.
double rounding_of(AuditMetric metric);

}  // namespace lime
