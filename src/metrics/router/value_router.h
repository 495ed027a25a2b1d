// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/value_buffer.h"

namespace lime {

/// Computes routed values, U = R V for every dimension, in double. One object per thread.
class ValueRouter {
 public:
  /// @param router  of one layer; per dimension with head_dim matrices, or with one for all.
  /// @param routed  [head_dim * kv_heads, tokens.count]; row c * kv_heads + h is dimension c of
  ///                target head h. Feature-major: the transpose of routed rows, ordered by
  ///                dimension, then head.
  /// Time head_dim * kv_heads * tokens multiply-adds per buffered head with a non-zero weight.
  /// @throws InvalidArgument  if router and buffer, or tokens and buffer do not match.
  void route(const ValueBuffer& values, const LayerRouter& router, TokenRange tokens,
             MatrixD& routed);

  /// Computes the same with the weights of each token.
  /// @param weights  [kv_heads * width, tokens.count]; row h * width + j is the weight of source j
  ///                 in target head h. width is num_sources(), or num_layers() if a head reads only
  ///                 the same head of each layer.
  void route_tokens(const ValueBuffer& values, const MatrixD& weights, TokenRange tokens,
                    MatrixD& routed);

 private:
  MatrixD sources_;
  MatrixD weights_;
};

/// Converts feature-major routed values to rows as captured, [tokens, kv_heads * head_dim].
MatrixF routed_rows(const MatrixD& routed, std::int64_t num_key_value_heads);

}  // namespace lime
