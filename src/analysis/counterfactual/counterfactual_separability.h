// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/counterfactual/counterfactual_layer.h"
#include "analysis/engine/analysis.h"
#include "store/capture_reader.h"

namespace lime {

/// Measures the accuracy of a linear probe on the classes of routed rows.
struct SeparabilityRequest {
  const CaptureReader& capture;
  std::string site;
  int folds = 5;
  double c = 1.0;
  std::uint64_t seed = 0;
};

/// Returns one quantity per router: the accuracy of each fold, with the same folds for all routers.
/// @throws InvalidArgument  if a class has fewer rows than folds.
std::vector<RoutedQuantity> measure_separability(const SeparabilityRequest& request,
                                                 const LayerRouters& routers,
                                                 const UnitContext& context);
std::int64_t separability_bytes(const SeparabilityRequest& request, std::int64_t layer);

}  // namespace lime
