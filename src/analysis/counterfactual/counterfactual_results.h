// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/counterfactual/counterfactual_layer.h"
#include "metrics/summary.h"

namespace lime {

/// Returns rows and samples of one layer. @param identity  of its sequences or folds, see Samples
UnitResult counterfactual_result(const std::vector<RoutedQuantity>& quantities,
                                 const SummaryOptions& summary, const std::string& identity);

/// Inputs of the comparison of layers and models of one analysis.
struct CounterfactualComparison {
  std::string label;    ///< of the routed decoder
  std::string against;  ///< label of the plain transformer; empty without one
  std::string site;
  std::vector<ResultRow> keys;  ///< of the units
  SummaryOptions summary;
};

/// Returns rows for the mean over layers, per router and per part of the gap, and for the gap per
/// layer. Means leave out layer 0, which has no router, and layers that lack the router.
std::vector<ResultRow> counterfactual_more_rows(const CounterfactualComparison& comparison,
                                                std::span<const UnitResult> units);

void fill_counterfactual_report(Report& report, const CounterfactualComparison& comparison,
                                const std::vector<std::string>& notes);

}  // namespace lime
