// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/experts/experts_analysis.h"
#include "analysis/experts/routed_layer.h"
#include "analysis/experts/token_groups.h"

namespace lime {

/// Returns the rows of a layer, with samples of the measures of sequences that all have.
UnitResult experts_result(const RoutedLayer& layer, const std::vector<NamedGroups>& groups,
                          const ExpertsOptions& options, const UnitContext& context);

/// @param inputs  a line about the sequences of each input
void fill_experts_report(Report& report, const std::vector<std::string>& inputs,
                         const ExpertsOptions& options);

}  // namespace lime
