// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "checkpoint/model_config.h"
#include "model/decoders/decoder_weights.h"
#include "model/decoders/key_value_routing.h"

namespace lime {

/// Returns keys and values of a block, [kv_heads, tokens, 2, head_dim], as views shaped as `like`.
KeysAndValues views_of(const at::Tensor& block, const at::Tensor& like);

/// LIMe's buffer in a pass with gradients, for routers that are the same for all tokens.
///
/// Forward, layer l is one product of its weights [kv_heads, sources * kv_heads] with the rows
/// [sources * kv_heads, tokens * 2 * head_dim] of the buffer, read in place. Backward, where the
/// readers of layer l are the layers that route from it,
///
///   d own_l = sum over readers m of R_m[:, l]^T d routed_m,    dR_m[:, l] = d routed_m own_l^T
///
/// is again one product, with the rows [readers * kv_heads, tokens * 2 * head_dim] of the gradients
/// of later layers' routed keys and values. So the graph keeps every key and value once, and a step
/// reads each pair of layer and source once forward and once backward, for every router kind. The
/// CPU has kernels for these products; on a GPU they are LibTorch's, one per run of consecutive
/// layers. Lives for one pass, forward and backward; not thread-safe.
class RouterTape : public std::enable_shared_from_this<RouterTape> {
 public:
  /// Returns true for the routers and tensors described above.
  static bool can_route(const ModelConfig& config);

  RouterTape(const ModelConfig& config, const DecoderWeights& weights);

  /// Returns a scalar that represents all routers in the graph. Their gradients flow through it,
  /// after those of the layers that depend on it. Undefined if routers have no weights.
  at::Tensor weights_in_graph(const DecoderWeights& weights);

  /// Implements KeyValueRouting::mix(). If a layer is mixed again, only the last has a backward
  /// pass.
  /// @param weights  weights_in_graph(); undefined when a layer is mixed again
  KeysAndValues mix(int layer, const KeysAndValues& own, const at::Tensor& weights);

  /// Returns the number of elements in the buffer: 2 * head_dim for each layer, head and token.
  std::int64_t num_elements() const { return buffer_.defined() ? buffer_.numel() : 0; }

 private:
  struct Source {
    std::int64_t layer = 0;
    std::int64_t place = 0;  ///< index of the source among those of `layer`
  };
  struct Layer {
    std::vector<std::int64_t> sources;
    std::vector<Source> readers;
    at::Tensor weights;   ///< [kv_heads, sources * mixed]; undefined for layer 0 and averages
    at::Tensor gradient;  ///< of the weights; undefined if they are
  };

  /// Returns R_l[h, s, g] for source `place` of layer l.
  template <typename T>
  T weight(std::int64_t layer, std::int64_t place, std::int64_t head, std::int64_t mixed) const;
  template <typename T> at::Tensor route(std::int64_t layer) const;
  /// @param routed  gradients of the layer's routed keys and values; returns those of its own.
  template <typename T> at::Tensor route_backward(std::int64_t layer, const at::Tensor& routed);
  std::vector<at::Tensor> backward(std::int64_t layer, const std::vector<at::Tensor>& gradients);

  // The same with LibTorch's products.
  void join_weights();
  at::Tensor route_by_library(std::int64_t layer) const;
  at::Tensor route_backward_by_library(std::int64_t layer, const at::Tensor& routed);
  at::Tensor joined_gradient(const Layer& layer, std::int64_t index) const;

  std::int64_t heads_ = 0;
  std::int64_t layers_read_ = 0;
  bool mixes_heads_ = true;
  std::vector<Layer> layers_;
  // [layers, kv_heads, tokens, 2, head_dim]: keys and values. The backward pass, from the last
  // layer to the first, replaces them with the gradients of later layers' routed keys and values.
  at::Tensor buffer_;
  // Of LibTorch's products, [layers, sources, kv_heads, kv_heads]: R_l[h, s, g] at [l, s, h, g], 0
  // for sources that are not read, and their gradients. Undefined with the CPU's kernels.
  at::Tensor joined_weights_;
  at::Tensor joined_gradients_;
};

}  // namespace lime
