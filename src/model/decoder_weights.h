// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"

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

/// The weights of one layer. The queries', keys' and values' projections lie in one matrix, and so
/// do gate and up, so that inference multiplies once; the parts are views of it.
struct LayerWeights {
  at::Tensor input_norm;
  LinearWeights qkv, q, k, v;
  at::Tensor router;  ///< [kv_heads, (l + 1) * kv_heads]; undefined in layer 0 and without LIMe
  LinearWeights o;
  at::Tensor post_attention_norm;
  LinearWeights gate_up, gate, up;
  LinearWeights down;
};

/// All weights of a decoder, uninitialised until something is written into `parameters`.
struct DecoderWeights {
  /// @throws FormatError  if the config is not valid or asks for a router that is not supported.
  DecoderWeights(const ModelConfig& config, const at::TensorOptions& options);

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

/// Random weights for training: normal(0, initializer_range of config.json, or 0.02) for matrices,
/// 0 for biases, 1 for gains, initialize_router() for routers. Each parameter draws from a stream
/// of its own, so the same seed gives the same weights on every machine.
void initialize_weights(DecoderWeights& weights, const ModelConfig& config, std::uint64_t seed);

}  // namespace lime
