// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "model/decoders/decoder_weights.h"
#include "model/kernels/workspace.h"
#include "model/passes/crossing.h"

namespace lime {

/// Un-rotated keys and values of one layer, each [batch, seq, kv_heads, head_dim].
struct KeysAndValues {
  at::Tensor keys;
  at::Tensor values;
};

/// Transforms the keys and values of a layer before its attention. Lives for one pass.
class KeyValueRouting {
 public:
  KeyValueRouting() = default;
  virtual ~KeyValueRouting() = default;
  KeyValueRouting& operator=(const KeyValueRouting&) = delete;
  /// Returns a routing that shares the tensors of this one; cross() then gives it its own.
  virtual std::unique_ptr<KeyValueRouting> clone() const = 0;

  /// Transforms the keys and values of one layer. Called once per layer, in order.
  /// @param own  keys and values projected by the layer
  /// @param x    input of that projection, after the norm: [batch, seq, hidden]
  /// @param queries  [batch, seq, num_heads, head_dim]
  /// @return those for its attention, possibly in memory that the next call overwrites.
  virtual KeysAndValues mix(int layer, const KeysAndValues& own, const at::Tensor& x,
                            const at::Tensor& queries) = 0;

  /// Returns true if mix() compares queries with keys, both after their norms, and mixes values
  /// only.
  virtual bool reads_queries() const { return false; }

  /// Returns the weights of the last mix(), [batch, seq, kv_heads, (layer + 1) * heads], with which
  /// each key-value head reads each layer (heads = 1) or each of its heads (heads = kv_heads).
  /// @param x  as for mix()
  virtual at::Tensor weights(int layer, const at::Tensor& x) const = 0;

  /// Returns true if keys are mixed with the same weights as values.
  virtual bool routes_keys() const { return false; }
  /// Replaces the values that the last mix() returned where later layers read them.
  virtual void replace_values([[maybe_unused]] int layer,
                              [[maybe_unused]] const at::Tensor& values) {}
  /// Returns true if later layers read the mixed values of a layer rather than its own.
  virtual bool reads_mixed_values() const { return false; }

  /// Transfers what the layers from `next_layer` on need to another device. Inference only.
  virtual void cross(Crossing& crossing, int next_layer) = 0;

  /// Returns true if layers can be recomputed in the backward pass.
  virtual bool can_replay() const { return false; }
  /// Returns a routing that replays mix() in the backward pass, or null. Call after the first
  /// mix().
  virtual std::unique_ptr<KeyValueRouting> replay() const { return nullptr; }
  /// Returns a scalar in the graph that represents this routing's own weights, or undefined.
  virtual at::Tensor weights_in_graph() const { return {}; }

  /// Returns the values used by layers that project none of their own; undefined if all layers do.
  virtual at::Tensor shared_values() const { return {}; }

 protected:
  KeyValueRouting(const KeyValueRouting&) = default;
};

/// Returns how a routing mixes keys and values, or null for attention as in LLaMA.
/// @param workspace  provides the memory; nullptr to build an autograd graph instead
std::unique_ptr<KeyValueRouting> make_routing(const ModelConfig& config,
                                              const DecoderWeights& weights, Workspace* workspace);

}  // namespace lime
