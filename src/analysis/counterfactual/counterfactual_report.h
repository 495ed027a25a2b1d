// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/report/results_output.h"

namespace lime {

/// What the report says beside the rows.
struct CounterfactualNotes {
  std::string label;
  std::string against;             ///< label; empty without one
  std::vector<std::string> lines;  ///< what was measured of what
  double confidence = 0.95;
};

/// Adds to the rows of prepare_counterfactual() what people need to read them: the gap and what the
/// mixing adds as sentences, a table of routers over all layers, and one per quantity by layer.
Report make_counterfactual_report(Results results, const CounterfactualNotes& notes);

}  // namespace lime
