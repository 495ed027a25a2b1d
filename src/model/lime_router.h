// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.h"
#include "model/workspace.h"

namespace lime {

/// Un-rotated keys and values of one layer, each [batch, seq, kv_heads, head_dim].
struct KeysAndValues {
  at::Tensor keys;
  at::Tensor values;
};

/// What LIMe's routers read: the un-rotated keys and values of all layers so far (the paper's
/// buffer), and the mixing itself.
///
///   routed[h] = sum over j <= l and heads g of R_l[h, j * kv_heads + g] * buffered[j][g]
///
/// The same weights route keys and values. For inference the buffer is one block of memory
/// [layers, kv_heads, batch * seq, 2, head_dim], so that routing a layer is one matrix product
/// with its [(l + 1) * kv_heads, batch * seq * 2 * head_dim] view. With gradients each layer stays
/// a tensor of its own and the product is summed over layers, so that the graph keeps every key
/// and value once. Source: Gerasimov et al. (2025), arXiv:2502.09245, section 3.
class LimeBuffer {
 public:
  /// @param num_layers  layers that will be appended at most
  /// @param workspace   where the memory lies; nullptr to build an autograd graph instead
  LimeBuffer(std::int64_t num_layers, Workspace* workspace)
      : num_layers_(num_layers), workspace_(workspace) {}

  /// Appends the next layer.
  void append(const KeysAndValues& layer);

  /// Mixes all layers appended so far.
  /// @param router  [kv_heads, appended layers * kv_heads]
  KeysAndValues route(const at::Tensor& router) const;

 private:
  at::Tensor routed_block(const at::Tensor& router) const;

  std::int64_t num_layers_;
  Workspace* workspace_;
  std::int64_t batch_ = 0;
  std::int64_t appended_ = 0;
  at::Tensor memory_;               // [layers, kv_heads, batch * seq, 2, head_dim]
  std::vector<at::Tensor> layers_;  // each [kv_heads, batch * seq, 2, head_dim]
};

/// Fills a router as the paper starts it: the identity on the own (last) layer, elsewhere
/// uniform(-b, b) with b = sqrt(3 / ((l + 1) * kv_heads)).
/// @param router  [kv_heads, (l + 1) * kv_heads], float32 or float64 on the processor
void initialize_router(const at::Tensor& router, Random& random);

}  // namespace lime
