// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/report/results_output.h"

namespace lime {

/// Facts that the report prints in addition to the rows.
struct CounterfactualNotes {
  std::string label;
  std::string against;             ///< label; empty without one
  std::vector<std::string> lines;  ///< notes on inputs and measures
  double confidence = 0.95;
};

/// Fills the report of prepare_counterfactual(): the gap and the contribution of mixing as
/// sentences, a table of routers over all layers, and one per quantity by layer.
void fill_counterfactual_report(Report& report, const CounterfactualNotes& notes);

}  // namespace lime
