// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/router/router_maps.h"

namespace lime {

/// What a map of routers shows of the weights R.
enum class RouterQuantity {
  kShare,        ///< |R| over its sum over all that the map's row stands for: rows sum to 1
  kMagnitude,    ///< |R|
  kSignedShare,  ///< R over the same sum of |R|
  kSigned,       ///< R
};

/// `quantity` of each layer and buffered layer, summed over buffered heads, [num_layers,
/// num_layers]; NaN above the diagonal. Over target heads, magnitudes and signed weights are
/// averaged, and shares are those of the layer's whole router: kShare is router_mean_map().
MatrixD router_layer_values(const Routers& routers, RouterQuantity quantity);

/// The same for each target head of a layer, [kv_heads, layer + 1].
MatrixD router_head_values(const Routers& routers, std::int64_t layer, RouterQuantity quantity);

/// The same for each target head and each head of one buffered layer, [kv_heads, kv_heads].
MatrixD router_block_values(const Routers& routers, std::int64_t layer, std::int64_t source_layer,
                            RouterQuantity quantity);

/// Where the content of one routed head comes from.
struct RouterFlow {
  /// What passes from a routed head of an earlier layer into a buffered head.
  struct Edge {
    std::int64_t layer = 0;
    std::int64_t head = 0;
    std::int64_t source_layer = 0;
    std::int64_t source_head = 0;
    double amount = 0.0;
  };
  MatrixD direct;    ///< share of each buffered head in the routed head, [kv_heads, layer + 1]
  MatrixD signs;     ///< of the weights, -1, 0 or 1, [kv_heads, layer + 1]
  MatrixD indirect;  ///< what passes a buffered head after one routed head or more, [as direct]
  std::vector<Edge> edges;  ///< the strongest of earlier layers, descending
};

struct RouterFlowOptions {
  /// Share of the residual stream before a layer that was there before the layer below it, in [0,
  /// 1]; the rest is what the routed heads of the layer below wrote, in equal parts.
  double residual_share = 0.5;
  std::int64_t max_edges = 64;  ///< >= 0
};

/// Follows the content of a routed head back to all buffered heads that feed it.
///
/// Directly, buffered head j has the share |R_hj| / sum_j |R_hj|. What arrives at the buffer of
/// layer m is a projection of the residual stream before m, to which the routed heads of layer m -
/// 1 and, before it, of all earlier layers have written. The stream is unrolled as attention
/// rollout does: residual_share of it is the stream one layer below, the rest comes in equal parts
/// from the routed heads of that layer, and each of them passes on what it gets by its own shares.
/// So the content is never lost: all of it ends in the embeddings, the buffer of layer 0.
///
/// It is what the routers' weights alone say; which head's output another one's projections read
/// strongly (W_V W_O) does not count, nor do MLPs.
///
/// @throws InvalidArgument  if layer or head is not there, or an option is out of range.
/// Source of the unrolling: Abnar & Zuidema (2020), arXiv:2005.00928, equation 1.
RouterFlow router_flow(const Routers& routers, std::int64_t layer, std::int64_t head,
                       const RouterFlowOptions& options = {});

}  // namespace lime
