// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/router/layer_router.h"
#include "metrics/router/router_maps.h"

namespace lime {

/// What takes the place of the trained router.
enum class CounterfactualKind {
  kTrained,   ///< the router itself
  kIdentity,  ///< every head reads itself: the values of the own layer, as in a plain transformer
  kLast,      ///< only the own layer and the `number` - 1 before it
  kFirst,     ///< only layers 0 to `number` - 1
  kTop,       ///< per target head only the `number` buffered heads that contribute most
  kUnsigned,  ///< magnitudes of the weights: no head is subtracted any more
  kPermuted,  ///< per target head the same contributions from other buffered heads, at random
  kRandom,    ///< per target head normal weights of the same norm
  kCut,       ///< without what source layer `number` contributes
};

/// One counterfactual router, as text: trained, identity, last-J, first-J, top-K, unsigned,
/// permuted, random, cut-L.
struct Counterfactual {
  CounterfactualKind kind = CounterfactualKind::kTrained;
  std::int64_t number = 0;  ///< J >= 1, K >= 1 or L >= 0; 0 where the kind takes none

  /// @throws InvalidArgument  that lists what there is.
  static Counterfactual parse(std::string_view text);
  std::string name() const;
  /// True for those that draw random numbers.
  bool is_random() const {
    return kind == CounterfactualKind::kPermuted || kind == CounterfactualKind::kRandom;
  }
  bool operator==(const Counterfactual&) const = default;
};

struct CounterfactualOptions {
  /// Of the random kinds; each layer and target head draws from a stream of its own.
  std::uint64_t seed = 0;
  /// Rescales every target head's weights to the norm of the trained ones.
  bool keep_norm = false;
};

/// Makes the router that takes the place of the trained one of one layer.
///
/// A buffered head's share in the routed values is its weight times the size of its values, so
/// that "contribute most", "the same contributions" and "the same norm" refer to w s, s the root
/// mean square of the head's values: they then say the same of two models that differ in how their
/// heads are scaled only. With unit_scales() they refer to the bare weights.
///
///   permuted: w'_j = w_p(j) s_p(j) / s_j,   p a permutation of the buffered heads
///   random:   w'_j = g_j / s_j, g normal with ||g|| = ||w s||
///
/// Of a router per dimension w_j and s_j are vectors with an entry per dimension: whole buffered
/// heads are kept, cut and permuted, and norms go over the dimensions too.
///
/// Layer 0 has no router and keeps the identity, except for cut-0.
///
/// @param trained  R of `layer`.
/// @param scales   s, [num_layers, kv_heads]; for routers per dimension [num_layers, kv_heads *
///                 head_dim]. What has scale 0 contributes nothing and keeps weight 0 in the random
///                 kinds.
/// @return a router of the same shape. Rows may be zero where nothing is left.
/// @throws InvalidArgument  if shapes do not fit, or a cut layer is not among the layers.
LayerRouter counterfactual_router(const LayerRouter& trained, const HeadScales& scales,
                                  std::int64_t layer, const Counterfactual& counterfactual,
                                  const CounterfactualOptions& options = {});

}  // namespace lime
