// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "metrics/router/head_scales.h"
#include "metrics/router/routers.h"

namespace lime {

/// Computes which layers each layer reads, averaged over heads.
///
///   M[l, l'] = sum_{h, h'} |R[l', h', h]| s[l', h']  /  its sum over l' <= l
///
/// @param scales  s, [num_layers, kv_heads]; see HeadScales.
/// @return [num_layers, num_layers], lower triangular, rows sum to 1; a row of zeros if a router is
///         zero. Source: figure 5 of the LIMe paper (with s = 1, layers from 2 on).
///
/// |R| alone depends on the arbitrary scaling of heads: multiplying W_K and W_V of a buffered head
/// by c and dividing its columns by c does not change the function. With s the root mean square of
/// the head's keys or values, the map is invariant.
MatrixD router_mean_map(const Routers& routers, const HeadScales& scales);

/// Computes the same for each target head of every layer, [kv_heads, layer + 1], rows sum to 1.
/// Source: figure 9 of the LIMe paper.
std::vector<MatrixD> router_head_maps(const Routers& routers, const HeadScales& scales);

/// Quantities shown in heatmaps of router weights R.
enum class RouterQuantity {
  kShare,        ///< |R| over its sum over all weights of the row: rows sum to 1
  kMagnitude,    ///< |R|
  kSignedShare,  ///< R over the same sum of |R|
  kSigned,       ///< R
};

/// Returns `quantity` of each layer and buffered layer, summed over buffered heads, [num_layers,
/// num_layers]; NaN above the diagonal. Absolute and signed weights are averaged over target heads;
/// shares are those of the layer's whole router: kShare is router_mean_map().
MatrixD router_layer_values(const Routers& routers, RouterQuantity quantity);

/// Returns `quantity` for each target head of a layer, [kv_heads, layer + 1].
MatrixD router_head_values(const Routers& routers, std::int64_t layer, RouterQuantity quantity);

/// Returns `quantity` of target heads by heads of one buffered layer, [kv_heads, kv_heads].
MatrixD router_block_values(const Routers& routers, std::int64_t layer, std::int64_t source_layer,
                            RouterQuantity quantity);

}  // namespace lime
