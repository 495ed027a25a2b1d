// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "analysis/audit/audit_options.h"

namespace lime {

/// Returns the relative change of a measurement that rounding may cause.
double rounding_of(AuditMetric metric);

/// Returns the same for the measurement called `name`. @throws FormatError  if there is none.
double rounding_of(std::string_view name);

}  // namespace lime
