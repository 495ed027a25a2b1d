// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace lime {

/// What attention() reads. The queries are the last `queries` of the `keys` positions. Query head
/// h reads key-value head h / (num_heads / kv_heads).
struct AttentionInput {
  at::Tensor q;  ///< [batch, queries, num_heads, head_dim], rotated
  at::Tensor k;  ///< [batch, keys, kv_heads, head_dim], rotated
  at::Tensor v;  ///< [batch, keys, kv_heads, head_dim]
  /// A token sees this many latest positions, itself included; none: all up to itself.
  std::optional<std::int64_t> window = std::nullopt;
};

/// May replace the masked scores or the pattern, [batch, num_heads, queries, keys].
using AttentionEditor = std::function<at::Tensor(const at::Tensor&)>;

/// Computes causal attention, softmax(q k^T / sqrt(head_dim) + mask) v, by the fastest way at hand:
/// blocks of queries on the processor (memory [queries per block, keys] per thread, keys behind
/// the diagonal are never touched), LibTorch's fused kernels elsewhere.
/// @param out  [batch, queries, num_heads, head_dim] contiguous memory to use where it can be;
///             may be undefined
/// @return [batch, queries, num_heads, head_dim]
at::Tensor attention(const AttentionInput& input, at::Tensor out = {});

/// The same with scores and pattern in memory, where somebody wants to see them.
at::Tensor attention_with_pattern(const AttentionInput& input, const AttentionEditor& edit_scores,
                                  const AttentionEditor& edit_pattern);

}  // namespace lime
