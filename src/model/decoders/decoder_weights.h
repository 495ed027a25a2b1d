// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "model/decoders/stage_plan.h"
#include "model/kernels/linear_weights.h"

namespace lime {

/// A weight under its canonical (Hugging Face) name.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// LIMe router: `weights` if they are the same for all tokens, else `q` and `keys`; or undefined.
struct LimeRouterWeights {
  at::Tensor weights;
  at::Tensor q;
  at::Tensor keys;
};

/// Weights of one hyper-connection; the dynamic ones may be undefined. Shapes: parameter_specs().
struct HyperConnectionWeights {
  at::Tensor static_alpha;
  at::Tensor static_beta;
  at::Tensor dynamic_alpha;  ///< dynamic_alpha_fn
  at::Tensor dynamic_alpha_scale;
  at::Tensor dynamic_beta;  ///< dynamic_beta_fn
  at::Tensor dynamic_beta_scale;
};

/// Weights of one router of the residual stream, by routing, or undefined; see parameter_specs().
struct DepthRouterWeights {
  at::Tensor projection;  ///< attn_res: the query; mhc: fn; mudd: w1
  at::Tensor gain;        ///< attn_res: of the norm of the keys; mhc: scale
  at::Tensor offset;      ///< attn_res: recency bias; mhc: base; mudd: static weights
  at::Tensor expansion;   ///< mudd: w2
};

/// Weights of one layer; undefined if a family lacks them. Query, key and value projections share
/// one matrix, as do gate and up: inference needs one product for each; the parts are views.
struct LayerWeights {
  NormWeights input_norm;  ///< undefined with hyper-connections, as is mlp_norm
  NormWeights key_input_norm, value_input_norm;  ///< if keys and values have their own
  DepthRouterWeights attention_router, feed_forward_router;
  DepthRouterWeights output_router;  ///< after the layer
  LinearWeights qkv, q, k, v;        ///< v is undefined if the values of layer 0 are used
  NormWeights q_norm, k_norm;
  LimeRouterWeights router;
  at::Tensor sinks;  ///< [heads], or undefined
  LinearWeights o;
  NormWeights attention_norm;       ///< after attention
  NormWeights mlp_norm;             ///< before the MLP; input_norm if the two are shared
  LinearWeights gate_up, gate, up;  ///< a plain MLP has no gate
  LinearWeights down;
  LinearWeights expert_router;         ///< of a mixture of experts, whose shared expert is above
  std::vector<ExpertWeights> experts;  ///< empty if the layer has an MLP
  LinearWeights shared_expert_gate;
  NormWeights output_norm;  ///< after the MLP
  HyperConnectionWeights hyper_attention, hyper_feed_forward;
  at::Tensor depth_average;  ///< [1, outputs averaged] after this layer, or undefined
};

/// All weights of a decoder, uninitialised until `parameters` are written.
struct DecoderWeights {
  /// @param stages  devices of the layers; none: all on that of `options`
  /// @throws FormatError  if the config is not valid.
  DecoderWeights(const ModelConfig& config, const at::TensorOptions& options,
                 std::span<const DecoderStage> stages = {});

  /// Returns true if forward() must build an autograd graph for them.
  bool requires_grad() const;

  at::Tensor embedding;
  at::Tensor positions;      ///< of learned positions
  LinearWeights project_in;  ///< undefined unless the embedding has another width, as project_out
  std::vector<LayerWeights> layers;
  DepthRouterWeights final_router;  ///< before the final norm
  NormWeights final_norm;
  LinearWeights project_out;
  at::Tensor lm_head;       ///< the embedding if the two are tied
  at::Tensor lm_head_bias;  ///< undefined unless DecoderSpec::output_bias
  /// Leaves that share memory with the tensors above, named and ordered as parameter_specs().
  std::vector<NamedTensor> parameters;
};

/// Initialises weights for training: normal(0, config.initializer_range) for matrices, 0 for
/// biases, 1 for gains (0 if 1 is added to them); routers, depth averages and hyper-connections as
/// in their public code. Each parameter has its own random stream: the same seed gives the same
/// weights everywhere.
void initialize_weights(DecoderWeights& weights, const ModelConfig& config, std::uint64_t seed);

}  // namespace lime
