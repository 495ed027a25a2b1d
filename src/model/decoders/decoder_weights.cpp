// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/decoder_weights.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <functional>
#include <map>

#include "checkpoint/parameters.h"
#include "checkpoint/router_layout.h"
#include "core/errors.h"
#include "core/random.h"
#include "model/decoders/depth_average.h"
#include "model/decoders/hyper_connections.h"
#include "model/decoders/lime_router.h"

namespace lime {
namespace {

using TensorMap = std::map<std::string, at::Tensor, std::less<>>;

/// Allocates the tensors of one layer and registers their parameters.
class LayerBuilder {
 public:
  LayerBuilder(TensorMap& parameters, std::int64_t layer, const at::TensorOptions& options)
      : parameters_(parameters), layer_(layer), options_(options) {}

  at::Tensor vector(const std::string& name, std::int64_t size) {
    return enter(name, at::empty({size}, options_));
  }

  at::Tensor matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    return enter(name, at::empty({rows, columns}, options_));
  }

  LinearWeights linear(const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    return {matrix(name + ".weight", out, in), bias ? vector(name + ".bias", out) : at::Tensor()};
  }

  /// Returns the fused matrix, which is not a parameter itself.
  LinearWeights fused(std::int64_t out, std::int64_t in, bool bias) const {
    return {at::empty({out, in}, options_), bias ? at::empty({out}, options_) : at::Tensor()};
  }

  /// Returns rows [first, first + count) of the fused matrix as a parameter. Detached, so that it
  /// is a leaf.
  LinearWeights part(const std::string& name, const LinearWeights& whole, std::int64_t first,
                     std::int64_t count) {
    LinearWeights part;
    part.weight = enter(name + ".weight", whole.weight.narrow(0, first, count).detach());
    if (whole.bias.defined()) {
      part.bias = enter(name + ".bias", whole.bias.narrow(0, first, count).detach());
    }
    return part;
  }

 private:
  at::Tensor enter(const std::string& name, const at::Tensor& tensor) {
    parameters_[layer_parameter(layer_, name)] = tensor;
    return tensor;
  }

  TensorMap& parameters_;
  std::int64_t layer_;
  at::TensorOptions options_;
};

LimeRouterWeights make_router(const ModelConfig& config, std::int64_t layer, LayerBuilder& build) {
  LimeRouterWeights weights;
  const std::string name = "self_attn.lime_router.";
  if (has_static_router(config, layer)) {
    const Shape shape = static_router_shape(config, layer);
    weights.weights = build.matrix(name + "static_weights", shape[0], shape[1]);
  }
  if (has_dynamic_router(config, layer)) {
    const std::int64_t heads = config.num_key_value_heads;
    const std::int64_t sources = std::ssize(router_sources(config.lime, layer));
    weights.q = build.matrix(name + "q_proj.weight", heads * config.head_dim, config.hidden_size);
    weights.keys = build.matrix(name + "keys", config.lime.head_mixing ? sources * heads : sources,
                                config.head_dim);
  }
  return weights;
}

HyperConnectionWeights make_hyper_connection(const ModelConfig& config, const std::string& name,
                                             LayerBuilder& build) {
  HyperConnectionWeights weights;
  const std::int64_t rate = config.hyper_connections.rate;
  weights.static_alpha = build.matrix(name + "static_alpha", rate, rate + 1);
  weights.static_beta = build.vector(name + "static_beta", rate);
  if (!config.hyper_connections.dynamic) return weights;
  weights.dynamic_alpha = build.matrix(name + "dynamic_alpha_fn", config.hidden_size, rate + 1);
  weights.dynamic_alpha_scale = build.vector(name + "dynamic_alpha_scale", 1);
  weights.dynamic_beta = build.vector(name + "dynamic_beta_fn", config.hidden_size);
  weights.dynamic_beta_scale = build.vector(name + "dynamic_beta_scale", 1);
  return weights;
}

LayerWeights make_layer(const ModelConfig& config, std::int64_t layer, LayerBuilder build) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t q_rows = config.num_attention_heads * config.head_dim;
  const std::int64_t kv_rows = config.num_key_value_heads * config.head_dim;
  const std::int64_t v_rows = has_own_values(config, layer) ? kv_rows : 0;
  const std::int64_t inner = config.intermediate_size;

  LayerWeights weights;
  if (config.decoder == DecoderKind::kHyperConnections) {
    weights.hyper_attention = make_hyper_connection(config, "hc_attn.", build);
    weights.hyper_feed_forward = make_hyper_connection(config, "hc_mlp.", build);
  } else {
    weights.input_norm = build.vector("input_layernorm.weight", hidden);
    weights.post_attention_norm = build.vector("post_attention_layernorm.weight", hidden);
  }
  weights.qkv = build.fused(q_rows + kv_rows + v_rows, hidden, config.qkv_bias);
  weights.q = build.part("self_attn.q_proj", weights.qkv, 0, q_rows);
  weights.k = build.part("self_attn.k_proj", weights.qkv, q_rows, kv_rows);
  if (v_rows > 0) {
    weights.v = build.part("self_attn.v_proj", weights.qkv, q_rows + kv_rows, v_rows);
  }
  weights.router = make_router(config, layer, build);
  weights.o = build.linear("self_attn.o_proj", hidden, q_rows, config.o_bias);
  weights.gate_up = build.fused(2 * inner, hidden, config.mlp_bias);
  weights.gate = build.part("mlp.gate_proj", weights.gate_up, 0, inner);
  weights.up = build.part("mlp.up_proj", weights.gate_up, inner, inner);
  weights.down = build.linear("mlp.down_proj", hidden, inner, config.mlp_bias);
  return weights;
}

void fill_normal(const at::Tensor& to, double deviation, Random& random) {
  double* const data = to.data_ptr<double>();
  for (std::int64_t i = 0; i < to.numel(); ++i) data[i] = deviation * random.normal();
}

}  // namespace

DecoderWeights::DecoderWeights(const ModelConfig& config, const at::TensorOptions& options,
                               std::span<const DecoderStage> stages) {
  config.validate("decoder");
  const auto on_device_of = [&](std::int64_t layer) {
    for (const DecoderStage& stage : stages) {
      if (layer < stage.layers.end()) return options.device(stage.device);
    }
    return options;
  };
  const at::TensorOptions first = on_device_of(0);
  const at::TensorOptions last = on_device_of(config.num_hidden_layers - 1);
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  TensorMap by_name;
  embedding = at::empty({config.vocab_size, config.hidden_size}, first);
  by_name["model.embed_tokens.weight"] = embedding;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const at::TensorOptions here = on_device_of(layer);
    layers.push_back(make_layer(config, layer, LayerBuilder(by_name, layer, here)));
    const std::int64_t averaged = num_averaged_outputs(config, layer);
    if (averaged == 0) continue;
    layers.back().depth_average = at::empty({1, averaged}, here);
    by_name[depth_average_parameter(layer)] = layers.back().depth_average;
  }
  final_norm = at::empty({config.hidden_size}, last);
  by_name["model.norm.weight"] = final_norm;
  lm_head = config.tie_word_embeddings ? embedding
                                       : at::empty({config.vocab_size, config.hidden_size}, last);
  if (!config.tie_word_embeddings) by_name["lm_head.weight"] = lm_head;

  for (const ParameterSpec& spec : specs) {
    const auto found = by_name.find(spec.name);
    if (found == by_name.end() || found->second.sizes() != at::IntArrayRef(spec.shape)) {
      throw InvalidArgument("decoder: this build does not support '{}' of shape {}", spec.name,
                            shape_text(spec.shape));
    }
    parameters.push_back({spec.name, found->second});
  }
}

bool DecoderWeights::requires_grad() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const NamedTensor& entry) { return entry.tensor.requires_grad(); });
}

void initialize_weights(DecoderWeights& weights, const ModelConfig& config, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  const Random base(seed);
  for (std::size_t i = 0; i < weights.parameters.size(); ++i) {
    const auto& [name, tensor] = weights.parameters[i];
    if (name.ends_with(".bias")) {
      tensor.zero_();
    } else if (tensor.dim() == 1) {
      tensor.fill_(1.0);
    } else {
      Random random = base.fork(i);
      const at::Tensor drawn = at::empty(tensor.sizes(), at::TensorOptions(at::kDouble));
      if (name.ends_with("lime_router.static_weights")) {
        initialize_router(drawn, config, random);
      } else {
        fill_normal(drawn, config.initializer_range, random);
      }
      tensor.copy_(drawn);
    }
  }
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const LayerWeights& own = weights.layers[layer];
    if (own.depth_average.defined()) initialize_depth_average(own.depth_average);
    if (!own.hyper_attention.static_alpha.defined()) continue;
    initialize_hyper_connection(own.hyper_attention, static_cast<std::int64_t>(layer));
    initialize_hyper_connection(own.hyper_feed_forward, static_cast<std::int64_t>(layer));
  }
}

}  // namespace lime
