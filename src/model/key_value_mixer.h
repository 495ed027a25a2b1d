// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "model/device_link.h"

namespace lime {

/// Un-rotated keys and values of one layer, each [batch, seq, kv_heads, head_dim].
struct KeysAndValues {
  at::Tensor keys;
  at::Tensor values;
};

/// What stands between a layer's projections and its attention: it may put keys and values of
/// earlier layers in the place of the layer's own. Lives for one pass.
class KeyValueMixer {
 public:
  KeyValueMixer() = default;
  virtual ~KeyValueMixer() = default;
  KeyValueMixer(const KeyValueMixer&) = delete;
  KeyValueMixer& operator=(const KeyValueMixer&) = delete;

  /// Called once per layer, in order.
  /// @param own  what the layer projected
  /// @param x    what it projected from, after the norm: [batch, seq, hidden]
  /// @return what its attention reads; may lie in memory that the next call writes over.
  virtual KeysAndValues mix(int layer, const KeysAndValues& own, const at::Tensor& x) = 0;

  /// Carries what the layers from `next_layer` on need to another device. Inference only.
  virtual void cross(Crossing& crossing, int next_layer) = 0;

  /// True where layers can be computed again in the backward pass.
  virtual bool can_replay() const { return false; }
  /// For that; to be asked for after the first mix(). Null where it cannot be.
  virtual std::unique_ptr<KeyValueMixer> replay() const { return nullptr; }
  /// A scalar in the graph that stands for this mixer's own weights, or undefined.
  virtual at::Tensor weights_in_graph() const { return {}; }

  /// The values of layers that project none of their own; undefined where all do.
  virtual at::Tensor shared_values() const { return {}; }
};

}  // namespace lime
