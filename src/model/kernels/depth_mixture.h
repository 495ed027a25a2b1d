// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "model/decoders/decoder_weights.h"

namespace lime {

// Mixtures over depth: each token combines its own vectors of several layers. On the CPU these are
// kernels with their own backward passes, elsewhere LibTorch's operations. Sums over tokens are
// divided into fixed blocks: results are bit-identical for any number of threads.

/// Returns the weights of a router on the device of x: those of the next layer may be on another.
DepthRouterWeights on_device_of(const at::Tensor& x, const DepthRouterWeights& router);

/// Weighted sum of sources, and its weights, which are not part of the graph.
struct DepthMixture {
  at::Tensor mixed;    ///< [batch, seq, ...], as the sources
  at::Tensor weights;  ///< [batch, seq, sources], or [batch, seq, kv_heads, sources]
};

/// Attends over sources x_i with a learned query w and norm gain g:
///
///   y = sum_i a_i x_i,    a = softmax_i(w . (g * x_i / rms(x_i)) + [i is the last] bias)
///
/// Reads each source once forward and once backward. Source: Kimi Team (2026), arXiv:2603.15031,
/// equations 2 and 3; bias: the open implementation.
/// @param sources  each [batch, seq, hidden]
DepthMixture attend_over_depth(const std::vector<at::Tensor>& sources,
                               const DepthRouterWeights& router, double eps);

/// Mixes the values of several layers by attention of a query to their keys, per key-value head:
///
///   y = sum_i a_i v_i,    a = softmax_i(q . k_i / sqrt(head_dim))
///
/// with q the mean query of the heads that share the key-value head. Source: Zeng et al. (2026),
/// arXiv:2606.05014; grouped queries: the authors' code.
/// @param queries       [batch, seq, num_heads, head_dim]
/// @param keys, values  each [batch, seq, kv_heads, head_dim]
DepthMixture mix_values(const at::Tensor& queries, const std::vector<at::Tensor>& keys,
                        const std::vector<at::Tensor>& values);

}  // namespace lime
