// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"
#include "metrics/router/layer_router.h"

namespace lime {

/// Attributes the attention of one query of a routed head to buffered layers:
///
///   s[m, k] = a[k] |sum_j R[h, (m, j)] v_m[k, j]|,    over the sum of all s
///
/// a[k] is the attention weight of key k, R the router of the layer, h its key-value head, v_m[k,
/// j] the value of token k in head j of buffered layer m, before the router. Uses norms, not
/// vectors: opposite contributions of two layers do not cancel.
///
/// @param pattern  a, [num_keys].
/// @param values   of layers 0, 1, ..., [num_keys, kv_heads * head_dim] each.
/// @return [layers, num_keys], sums to 1; all 0 if nothing is read.
/// @throws InvalidArgument  if shapes or the head are invalid.
MatrixD routed_attention(std::span<const double> pattern, const LayerRouter& router,
                         std::int64_t head, std::span<const MatrixF> values);

/// Computes the same without the values: with s[m, k] = a[k] sum_j |R[h, (m, j)]| r_m[j], where r
/// is their root mean square over a text, so the layers are the same for every key. A router per
/// dimension is replaced by the mean of its weights.
///
/// @param scales  r, [layers, kv_heads], >= 0.
MatrixD routed_attention_of_scales(std::span<const double> pattern, const LayerRouter& router,
                                   std::int64_t head, const MatrixD& scales);

}  // namespace lime
