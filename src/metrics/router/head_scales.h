// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "metrics/router/routers.h"

namespace lime {

/// Root mean square of each buffered head's activations, [num_layers, kv_heads]; ones leave |R|
/// unchanged. Keys and values give two different weightings.
using HeadScales = MatrixD;

/// Returns ones for every buffered head, for maps of |R| itself.
HeadScales unit_scales(const Routers& routers);

/// Throws InvalidArgument if the routers are invalid or `scales` has another shape than their
/// heads.
void check_scales(const Routers& routers, const HeadScales& scales);

/// Returns |R| s of one layer, shaped as the router: [kv_heads, (layer + 1) * kv_heads].
MatrixD weighted_magnitudes(const Routers& routers, std::int64_t layer, const HeadScales& scales);

}  // namespace lime
