// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"
#include "metrics/router/layer_router.h"

namespace lime {

/// Tells from which buffered layers the values come that one query of a routed head reads:
///
///   s[m, k] = a[k] |sum_j R[h, (m, j)] v_m[k, j]|,    over the sum of all s
///
/// a[k] is what the query gives to key k, R the router of the layer, h its key-value head, v_m[k,
/// j] the value of token k in head j of buffered layer m, before the router. Lengths, not the
/// vectors: what two layers add to opposite sides counts for both.
///
/// @param pattern  a, [num_keys].
/// @param values   of layers 0, 1, ..., [num_keys, kv_heads * head_dim] each.
/// @return [layers, num_keys], sums to 1; all 0 where nothing is read.
/// @throws InvalidArgument  if shapes or the head do not fit.
MatrixD routed_attention(std::span<const double> pattern, const LayerRouter& router,
                         std::int64_t head, std::span<const MatrixF> values);

/// The same where the values themselves are not at hand: with s[m, k] = a[k] sum_j |R[h, (m, j)]|
/// r_m[j], their root mean squares over a text, so that every key has the same layers. A router per
/// dimension counts with the mean of its weights.
///
/// @param scales  r, [layers, kv_heads], >= 0.
MatrixD routed_attention_of_scales(std::span<const double> pattern, const LayerRouter& router,
                                   std::int64_t head, const MatrixD& scales);

}  // namespace lime
