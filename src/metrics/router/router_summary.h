// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "metrics/router/head_scales.h"
#include "metrics/router/routers.h"

namespace lime {

/// Summary of the router of one target head; shares refer to router_head_maps() (router_maps.h).
struct RouterHeadSummary {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  double entropy = 0.0;            ///< of its weight distribution over all buffered heads, nats
  double effective_sources = 1.0;  ///< exp(entropy), 1 to (layer + 1) * kv_heads
  double mean_depth = 0.0;         ///< mean number of layers back: 0 reads the own layer only
  double share_embedding = 0.0;    ///< on layer 0's buffer, projected from the embeddings
  double share_first_two = 0.0;    ///< on layers 0 and 1
  double share_previous = 0.0;     ///< on layer l - 1
  double share_own = 0.0;          ///< on layer l
  double share_negative = 0.0;     ///< fraction of weights below zero
};

/// Returns one summary per layer and target head, layers ascending.
std::vector<RouterHeadSummary> summarize_routers(const Routers& routers, const HeadScales& scales);

/// Distance of the trained router of one layer from LIMe's initialisation: the identity on the own
/// layer, and uniform weights of standard deviation 1 / sqrt((layer + 1) * kv_heads) elsewhere.
struct RouterDrift {
  double own_distance = 0.0;  ///< ||R_own - I|| / ||I||, Frobenius; 0 at initialisation
  /// Root mean square of the weights on earlier layers relative to the initialisation: about 1
  /// there. 0 for a plain transformer; NaN for layer 0, which has no earlier layers.
  double others_ratio = 0.0;
};

/// Returns one per layer. Source of the initialisation: corl-team/lime src/lm/lime.py.
std::vector<RouterDrift> router_drift(const Routers& routers);

/// Returns the Frobenius distance of each layer's router from a reference, relative to the norm of
/// the reference, [num_layers]. @throws InvalidArgument if the shapes differ.
VectorD router_distance(const Routers& routers, const Routers& reference);

}  // namespace lime
