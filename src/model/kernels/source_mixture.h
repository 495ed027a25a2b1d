// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "model/kernels/router_products.h"

namespace lime {

// Weighted sums of the vectors of several layers. On the CPU these are kernels with their own
// backward passes, elsewhere LibTorch's operations. Sums over tokens are divided into fixed blocks:
// results are bit-identical for any number of threads.

/// Computes for each token y_c = sum_j weights[c, j] x_j.
/// @param sources  each [batch, seq, hidden]
/// @param weights  [batch, seq, outputs, sources]
std::vector<at::Tensor> mix_sources(const std::vector<at::Tensor>& sources,
                                    const at::Tensor& weights);

/// Computes the keys and values that a router reads, with gradients: routed[h] = sum over sources s
/// and heads g of weights[h, s, g] blocks[s][g].
/// @param blocks  each [kv_heads, tokens, 2, head_dim]
at::Tensor mix_blocks(const std::vector<at::Tensor>& blocks, const RouterMixture& mixture);

/// Computes the same into existing memory, for weights per token or dimension. Requires
/// uses_cpu_kernels(out).
void mix_blocks_out(const at::Tensor& out, const std::vector<at::Tensor>& blocks,
                    const RouterMixture& mixture);

}  // namespace lime
