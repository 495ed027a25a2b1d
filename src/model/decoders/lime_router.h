// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/model_config.h"
#include "core/random.h"
#include "model/decoders/decoder_weights.h"
#include "model/decoders/key_value_routing.h"
#include "model/decoders/router_tape.h"
#include "model/kernels/router_products.h"
#include "model/kernels/workspace.h"

namespace lime {

/// Range of consecutive slots.
struct SlotRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool operator==(const SlotRange&) const = default;
};

/// Memory layout of the buffered layers. The sources of a router are always contiguous, and no
/// layer stays in memory longer than a router needs it.
///
///   full, average       one slot per layer
///   last j              j slots, written in turn
///   first j             j slots, and one for the current layer
///   first-and-previous  the first j between two slots that are written in turn
///   dilated j           a range of slots for each value of layer % j
struct RouterPlan {
  struct Layer {
    std::int64_t own_slot = 0;    ///< where this layer's keys and values are written
    std::int64_t first_slot = 0;  ///< first of those that its router reads
    /// Indices in router_sources() of the slots from first_slot on; empty if they are in order.
    std::vector<std::int64_t> order;
    std::int64_t num_sources = 1;
  };

  std::int64_t num_slots = 0;
  std::vector<Layer> layers;

  /// Returns the slots written before `next_layer` and read from it on, ascending.
  std::vector<SlotRange> slots_read_from(std::int64_t next_layer) const;
};

RouterPlan plan_router(const LimeConfig& config, std::int64_t num_layers);

/// LIMe's buffer of un-rotated keys and values, and the routers that mix it.
///
///   routed[h] = sum over sources j and heads g of R_l[h, j, g] * buffered[j][g]
///
/// The same weights route keys and values. RouterKind determines which layers are sources, see
/// router_sources(); without head mixing g = h only; per dimension each R is a vector. A dynamic
/// router computes for each token
///
///   R_l[h, :, :] = softmax(q_h(x) k^T / sqrt(head_dim)),   q = W x
///
/// with a learned key for each source and head. For inference the buffer is one block of memory
/// [slots, kv_heads, batch * seq, 2, head_dim] arranged by a RouterPlan, so that a layer is routed
/// by one matrix product with a [sources * kv_heads, batch * seq * 2 * head_dim] view. With
/// gradients it is a RouterTape where supported. Otherwise each layer is a separate tensor and the
/// product is summed over sources, so that the graph keeps every key and value once. Source:
/// Gerasimov et al. (2025), arXiv:2502.09245, section 3; docs/numerics.md.
class LimeRouter final : public KeyValueRouting {
 public:
  LimeRouter(const ModelConfig& config, const DecoderWeights& weights, Workspace* workspace);

  std::unique_ptr<KeyValueRouting> clone() const override {
    return std::make_unique<LimeRouter>(*this);
  }
  KeysAndValues mix(int layer, const KeysAndValues& own, const at::Tensor& x,
                    const at::Tensor& queries) override;
  at::Tensor weights(int layer, const at::Tensor& x) const override;
  bool routes_keys() const override { return true; }
  void cross(Crossing& crossing, int next_layer) override;
  bool can_replay() const override;
  std::unique_ptr<KeyValueRouting> replay() const override;
  at::Tensor weights_in_graph() const override { return weights_in_graph_; }

 private:
  void append(int layer, const KeysAndValues& own);
  /// Returns the weights with sources in the order of router_sources() or, `by_slot`, of memory.
  RouterMixture mixture(int layer, const at::Tensor& x, bool by_slot) const;
  at::Tensor static_weights(int layer) const;
  at::Tensor dynamic_weights(int layer, const at::Tensor& x) const;
  at::Tensor route(int layer, const at::Tensor& x);
  at::Tensor route_with_gradients(int layer, const at::Tensor& x) const;

  const ModelConfig& config_;
  const DecoderWeights& weights_;
  Workspace* const workspace_;
  const RouterPlan plan_;
  at::Tensor memory_;  // [slots, kv_heads, batch * seq, 2, head_dim]
  std::shared_ptr<RouterTape> tape_;
  at::Tensor weights_in_graph_;
  std::vector<at::Tensor>
      layers_;  // with gradients and no tape: each [kv_heads, batch * seq, 2, head_dim]
};

/// Fills a static router with the paper's initial values: the identity on the newest source layer,
/// elsewhere uniform(-b, b), b = config.lime.initializer_scale * sqrt(3 / fan_in), where fan_in is
/// the number of buffered heads that a routed head reads, (l + 1) * kv_heads for a full router.
/// @param router  static_router_shape(), float64 on the CPU
void initialize_router(const at::Tensor& router, const ModelConfig& config, Random& random);

}  // namespace lime
