// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "model/stage_plan.h"

namespace lime {

/// A weight under its canonical (Hugging Face) name.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// A linear layer whose weight may be cut into parts that are parameters of their own.
struct LinearWeights {
  at::Tensor weight;  ///< [out_features, in_features], all parts below each other
  at::Tensor bias;    ///< [out_features], or undefined
};

/// A LIMe router: `weights` where they are the same for all tokens, else `q` and `keys`; all
/// undefined where there is none. Shapes: parameter_specs().
struct LimeRouterWeights {
  at::Tensor weights;
  at::Tensor q;
  at::Tensor keys;
};

/// One hyper-connection, see HyperConnections; the dynamic ones may be undefined. Shapes:
/// parameter_specs().
struct HyperConnectionWeights {
  at::Tensor static_alpha;
  at::Tensor static_beta;
  at::Tensor dynamic_alpha;  ///< dynamic_alpha_fn
  at::Tensor dynamic_alpha_scale;
  at::Tensor dynamic_beta;  ///< dynamic_beta_fn
  at::Tensor dynamic_beta_scale;
};

/// The weights of one layer. The queries', keys' and values' projections lie in one matrix, and so
/// do gate and up, so that inference multiplies once; the parts are views of it.
struct LayerWeights {
  at::Tensor input_norm;       ///< undefined with hyper-connections, as post_attention_norm
  LinearWeights qkv, q, k, v;  ///< v is undefined where the values of layer 0 are read
  LimeRouterWeights router;
  LinearWeights o;
  at::Tensor post_attention_norm;
  LinearWeights gate_up, gate, up;
  LinearWeights down;
  HyperConnectionWeights hyper_attention, hyper_feed_forward;
  at::Tensor depth_average;  ///< [1, outputs averaged] after this layer, or undefined
};

/// The part of a decoder that lies on one device. The embedding goes with the first layer, final
/// norm and output projection with the last; a tied output projection stays with the embedding.
struct DecoderStage {
  c10::Device device;
  LayerRange layers;
  std::int64_t weight_bytes = 0;
};

/// All weights of a decoder, uninitialised until something is written into `parameters`.
struct DecoderWeights {
  /// @param stages  devices of the layers; none: all on that of `options`
  /// @throws FormatError  if the config is not valid.
  DecoderWeights(const ModelConfig& config, const at::TensorOptions& options,
                 std::span<const DecoderStage> stages = {});

  /// True if forward() must build an autograd graph for them.
  bool requires_grad() const;

  at::Tensor embedding;
  std::vector<LayerWeights> layers;
  at::Tensor final_norm;
  at::Tensor lm_head;  ///< the embedding where the two are tied
  /// Leaves that share memory with the above, in the order and with the names of
  /// parameter_specs().
  std::vector<NamedTensor> parameters;
};

/// Random weights for training: normal(0, config.initializer_range) for matrices, 0 for biases,
/// 1 for gains, and what initialize_router(), initialize_depth_average() and
/// initialize_hyper_connection() say. Each parameter draws from a stream of its own, so the same
/// seed gives the same weights on every machine.
void initialize_weights(DecoderWeights& weights, const ModelConfig& config, std::uint64_t seed);

}  // namespace lime
