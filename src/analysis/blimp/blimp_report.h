// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/blimp/blimp_rows.h"

namespace lime {

/// Fills the report of the BLiMP analysis.
///
/// Terminal: probes get per site a line per layer with the captures side by side, mean and spread
/// over tasks, then per capture and site the breakdown with a column per layer; zero-shot a line
/// per group with the captures side by side. LaTeX is the layout of the paper's Table 2: a row per
/// model (and site), a column per group of the breakdown, the mean over tasks last.
void fill_blimp_report(Report& report, const BlimpShared& shared);

}  // namespace lime
