// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/router/head_scales.h"
#include "metrics/router/layer_router.h"

namespace lime {

/// Replacements of the trained router.
enum class CounterfactualKind {
  kTrained,   ///< the router itself
  kIdentity,  ///< every head reads itself: the layer's own values, as in a plain transformer
  kLast,      ///< only the layer itself and the `number` - 1 before it
  kFirst,     ///< only layers 0 to `number` - 1
  kTop,       ///< per target head only the `number` buffered heads that contribute most
  kUnsigned,  ///< absolute values of the weights: no head is subtracted
  kPermuted,  ///< per target head the same contributions from randomly permuted buffered heads
  kRandom,    ///< per target head normal weights of the same norm
  kCut,       ///< without the contribution of source layer `number`
  kMean,      ///< the mean over tokens of weights that depend on the token
  kShuffled,  ///< the weights of another token of the sequence, in random order
};

/// One counterfactual router, as text "identity", "last-J", "first-J", "top-K", "cut-L" etc.
struct Counterfactual {
  CounterfactualKind kind = CounterfactualKind::kTrained;
  std::int64_t number = 0;  ///< J >= 1, K >= 1 or L >= 0; 0 if unused by the kind

  /// @throws InvalidArgument  that lists the valid ones.
  static Counterfactual parse(std::string_view text);
  std::string name() const;
  /// Returns true for the kinds that draw random numbers.
  bool is_random() const {
    return kind == CounterfactualKind::kPermuted || kind == CounterfactualKind::kRandom ||
           kind == CounterfactualKind::kShuffled;
  }
  bool operator==(const Counterfactual&) const = default;
};

struct CounterfactualOptions {
  /// Seed of the random kinds; each layer and target head has its own random stream.
  std::uint64_t seed = 0;
  /// Rescales every target head's weights to the norm of the trained ones.
  bool keep_norm = false;
};

/// Creates the counterfactual replacement of the trained router of one layer.
///
/// The contribution of a buffered head to the routed values is its weight times the size of its
/// values, so "contribute most", "the same contributions" and "the same norm" refer to w s, with s
/// the root mean square of the head's values. Results are then the same for two models that differ
/// only in the scaling of their heads. With unit_scales() they refer to the weights alone.
///
///   permuted: w'_j = w_p(j) s_p(j) / s_j,   p a permutation of the buffered heads
///   random:   w'_j = g_j / s_j, g normal with ||g|| = ||w s||
///
/// For a router per dimension w_j and s_j are vectors with an entry per dimension: whole buffered
/// heads are kept, cut and permuted, and norms include the dimensions.
///
/// Layer 0 has no router and keeps the identity, except for cut-0. The mean and shuffled weights of
/// a router that does not depend on the token are the trained ones.
///
/// @param trained  R of `layer`.
/// @param scales   s, [num_layers, kv_heads]; for routers per dimension [num_layers, kv_heads *
///                 head_dim]. Random kinds keep weight 0 at scale 0.
/// @return a router of the same shape. Rows may be zero if nothing is left.
/// @throws InvalidArgument  if shapes do not match, or a cut layer does not exist.
LayerRouter counterfactual_router(const LayerRouter& trained, const HeadScales& scales,
                                  std::int64_t layer, const Counterfactual& counterfactual,
                                  const CounterfactualOptions& options = {});

/// Weights of one input of a layer that depend on the token.
struct TokenRouter {
  std::int64_t layer = 0;
  VectorD mean;                   ///< over all tokens, [heads * width]
  MatrixD scales;                 ///< s, [heads, width]
  std::int64_t source_heads = 1;  ///< columns of a source: one per head, or 1
  bool is_sum = false;            ///< the identity adds up all sources
};

/// Creates the counterfactual replacement of the weights of each token, by the same rules. A
/// permutation is the same for all tokens; random weights differ between tokens.
///
/// @param weights    of consecutive tokens of one sequence, [tokens, heads * width]
/// @param first_row  of these tokens in their capture; determines the random numbers
/// @return [heads * width, tokens], for ValueRouter::route_tokens()
MatrixD counterfactual_weights(const ConstMatrixRef& weights, const TokenRouter& router,
                               const Counterfactual& counterfactual,
                               const CounterfactualOptions& options, std::int64_t first_row);

}  // namespace lime
