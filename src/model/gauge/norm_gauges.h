// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gauge/gauge_weights.h"

namespace lime {

/// Folds the gain of every norm that projections follow into these projections, so that it is 1,
/// and that of the norms of Attention Residuals; unties the output projection.
/// @throws InvalidArgument  if a gain is 0.
void fold_norms(GaugeWeights& weights);

}  // namespace lime
