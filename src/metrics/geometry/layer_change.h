// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "metrics/geometry/clustered_mean.h"
#include "metrics/geometry/similarity.h"

namespace lime {

/// How far rows turn from one layer to another of the same residual stream.
struct LayerChange {
  /// 1 - mean cosine of x_i and y_i, in [0, 2]: Men et al. (2024), arXiv:2403.03853, eq. 1.
  ClusteredMean influence;
  /// Mean of arccos(cosine) / pi, in [0, 1]. Gromov et al. (2024), arXiv:2403.17887, eq. 3.
  ClusteredMean angle;
};

/// Compares rows of equal index without centring. Rows of length 0 have cosine 0.
/// @throws InvalidArgument  if the shapes differ.
LayerChange layer_change(const ComparableRows& x, const ComparableRows& y);

}  // namespace lime
