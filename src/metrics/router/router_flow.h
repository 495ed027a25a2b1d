// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "metrics/router/routers.h"

namespace lime {

/// Sources of the content of one routed head.
struct RouterFlow {
  /// Flow from a routed head of an earlier layer into a buffered head.
  struct Edge {
    std::int64_t layer = 0;
    std::int64_t head = 0;
    std::int64_t source_layer = 0;
    std::int64_t source_head = 0;
    double amount = 0.0;
  };
  MatrixD direct;    ///< fraction of each buffered head in the routed head, [kv_heads, layer + 1]
  MatrixD signs;     ///< of the weights, -1, 0 or 1, [kv_heads, layer + 1]
  MatrixD indirect;  ///< flow through a buffered head after at least one routed head, [as direct]
  std::vector<Edge> edges;  ///< the strongest of earlier layers, descending
};

struct RouterFlowOptions {
  /// Fraction of the residual stream before a layer that is carried over from the layer below, in
  /// [0, 1]; the rest comes from the routed heads of the layer below, in equal parts.
  double residual_share = 0.5;
  std::int64_t max_edges = 64;  ///< >= 0
};

/// Traces the content of a routed head back to all buffered heads that contribute to it.
///
/// Directly, buffered head j has the share |R_hj| / sum_j |R_hj|. The buffer of layer m is a
/// projection of the residual stream before m, to which the routed heads of layer m - 1 and of all
/// earlier layers have been added. The stream is unrolled as in attention rollout: residual_share
/// of it is the stream one layer below, the rest comes in equal parts from the routed heads of that
/// layer, each of which distributes its part by its own shares. So the total is conserved: all of
/// it ends in the embeddings, the buffer of layer 0.
///
/// Uses the routers' weights only; ignores projections (W_V W_O) and MLPs.
///
/// @throws InvalidArgument  if layer or head does not exist, or an option is out of range.
/// Source of the unrolling: Abnar & Zuidema (2020), arXiv:2005.00928, equation 1.
RouterFlow router_flow(const Routers& routers, std::int64_t layer, std::int64_t head,
                       const RouterFlowOptions& options = {});

}  // namespace lime
