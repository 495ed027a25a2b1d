// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace lime {

/// Input of attention(): the last `queries` of `keys` positions; heads are grouped in order.
struct AttentionInput {
  at::Tensor q;  ///< [batch, queries, num_heads, head_dim], rotated
  at::Tensor k;  ///< [batch, keys, kv_heads, head_dim], rotated
  at::Tensor v;  ///< [batch, keys, kv_heads, head_dim]
  /// Number of latest positions that a token attends to, itself included; none: all.
  std::optional<std::int64_t> window = std::nullopt;
  /// Number of positions at the start of each sequence to ignore (left padding), [batch]; or empty.
  std::span<const std::int64_t> padding = {};
  /// Factor of the scores; none: 1 / sqrt(head_dim).
  std::optional<double> scale = std::nullopt;
  /// Soft cap c of the scaled scores: c tanh(score / c).
  std::optional<double> softcap = std::nullopt;
  /// One more logit of each head's softmax, whose weight is dropped, [num_heads]; or undefined.
  at::Tensor sinks = {};

  /// Returns the factor of the scores, in the precision of the kernels.
  template <typename T> T score_scale() const {
    return scale ? static_cast<T>(*scale) : T{1} / std::sqrt(static_cast<T>(q.size(3)));
  }
};

/// May replace the masked scores or the pattern, [batch, num_heads, queries, keys].
using AttentionEditor = std::function<at::Tensor(const at::Tensor&)>;

/// Computes causal attention, softmax(q k^T / sqrt(head_dim) + mask) v by default, with the fastest
/// available kernel. On the CPU it runs in blocks of queries (memory [queries per block, keys] per
/// thread; keys beyond the diagonal are never touched), elsewhere with LibTorch's fused kernels.
/// @param out      [batch, queries, num_heads, head_dim], contiguous memory for the result where
///                 possible; may be undefined
/// @param profile  receives the profile of the pattern, see attention_profile_of(); may be null. On
///                 the CPU the pattern is not materialised.
/// @return [batch, queries, num_heads, head_dim]
at::Tensor attention(const AttentionInput& input, at::Tensor out = {},
                     at::Tensor* profile = nullptr);

/// Measures per query and head: the columns of attention_profile() in metrics.
inline constexpr std::int64_t kProfileSize = 6;

/// Computes entropy, its exponential, mean distance and the weights of the first, previous and own
/// token of a pattern, [batch, num_heads, queries, keys].
/// @return [batch, queries, num_heads, kProfileSize], float64 of a float64 pattern, else float32
at::Tensor attention_profile_of(const at::Tensor& pattern);

/// Computes the same, but materialises scores and pattern for editors.
at::Tensor attention_with_pattern(const AttentionInput& input, const AttentionEditor& edit_scores,
                                  const AttentionEditor& edit_pattern);

}  // namespace lime
