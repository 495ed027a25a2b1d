// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/collapse/collapse_rows.h"
#include "analysis/report/report.h"
#include "metrics/collapse/layer_causes.h"

namespace lime {

/// Fills notes and table of the report. @param inputs  describes the captures, a line each
void fill_collapse_report(Report& report, const std::vector<std::string>& inputs,
                          const std::vector<RangeVerdict>& verdicts,
                          const std::vector<std::string>& caveats, const CollapseOptions& options);

}  // namespace lime
