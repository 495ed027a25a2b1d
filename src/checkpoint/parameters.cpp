// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parameters.h"

#include "checkpoint/router_layout.h"
#include "core/errors.h"

namespace lime {
namespace {

/// Appends to a list of specs.
class SpecList {
 public:
  explicit SpecList(std::vector<ParameterSpec>& specs) : specs_(specs) {}

  void add(std::string name, Shape shape) { specs_.push_back({std::move(name), std::move(shape)}); }

  void add_linear(const std::string& name, std::int64_t outputs, std::int64_t inputs, bool bias) {
    add(name + ".weight", {outputs, inputs});
    if (bias) add(name + ".bias", {outputs});
  }

 private:
  std::vector<ParameterSpec>& specs_;
};

void add_router(const ModelConfig& config, std::int64_t layer, SpecList& specs) {
  const std::string name = layer_parameter(layer, "self_attn.lime_router.");
  if (has_static_router(config, layer)) {
    specs.add(name + "static_weights", static_router_shape(config, layer));
  }
  if (has_dynamic_router(config, layer)) {
    const std::int64_t heads = config.num_key_value_heads;
    const std::int64_t sources = std::ssize(router_sources(config.lime, layer));
    specs.add_linear(name + "q_proj", heads * config.head_dim, config.hidden_size, false);
    specs.add(name + "keys",
              {config.lime.head_mixing ? sources * heads : sources, config.head_dim});
  }
}

void add_attention(const ModelConfig& config, std::int64_t layer, SpecList& specs) {
  const auto name = [&](std::string_view part) {
    return layer_parameter(layer, fmt::format("self_attn.{}", part));
  };
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t queries = config.num_attention_heads * config.head_dim;
  const std::int64_t keys = config.num_key_value_heads * config.head_dim;
  specs.add_linear(name("q_proj"), queries, hidden, config.qkv_bias);
  specs.add_linear(name("k_proj"), keys, hidden, config.qkv_bias);
  if (has_own_values(config, layer)) {
    specs.add_linear(name("v_proj"), keys, hidden, config.qkv_bias);
  }
  add_router(config, layer, specs);
  specs.add_linear(name("o_proj"), hidden, queries, config.o_bias);
}

void add_hyper_connection(const ModelConfig& config, const std::string& name, SpecList& specs) {
  const std::int64_t rate = config.hyper_connections.rate;
  specs.add(name + "static_alpha", {rate, rate + 1});
  specs.add(name + "static_beta", {rate});
  if (!config.hyper_connections.dynamic) return;
  specs.add(name + "dynamic_alpha_fn", {config.hidden_size, rate + 1});
  specs.add(name + "dynamic_alpha_scale", {1});
  specs.add(name + "dynamic_beta_fn", {config.hidden_size});
  specs.add(name + "dynamic_beta_scale", {1});
}

/// Appends the parameters before attention or feed-forward: a norm's gain, or a hyper-connection.
void add_branch_start(const ModelConfig& config, std::int64_t layer, std::string_view hyper,
                      std::string_view norm, SpecList& specs) {
  if (config.decoder == DecoderKind::kHyperConnections) {
    add_hyper_connection(config, layer_parameter(layer, hyper), specs);
  } else {
    specs.add(layer_parameter(layer, norm), {config.hidden_size});
  }
}

void add_layer(const ModelConfig& config, std::int64_t layer, SpecList& specs) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  add_branch_start(config, layer, "hc_attn.", "input_layernorm.weight", specs);
  add_attention(config, layer, specs);
  add_branch_start(config, layer, "hc_mlp.", "post_attention_layernorm.weight", specs);
  specs.add_linear(layer_parameter(layer, "mlp.gate_proj"), inner, hidden, config.mlp_bias);
  specs.add_linear(layer_parameter(layer, "mlp.up_proj"), inner, hidden, config.mlp_bias);
  specs.add_linear(layer_parameter(layer, "mlp.down_proj"), hidden, inner, config.mlp_bias);
  const std::int64_t averaged = num_averaged_outputs(config, layer);
  if (averaged > 0) specs.add(depth_average_parameter(layer), {1, averaged});
}

}  // namespace

std::vector<ParameterSpec> parameter_specs(const ModelConfig& config) {
  std::vector<ParameterSpec> list;
  SpecList specs(list);
  specs.add("model.embed_tokens.weight", {config.vocab_size, config.hidden_size});
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    add_layer(config, layer, specs);
  }
  specs.add("model.norm.weight", {config.hidden_size});
  if (!config.tie_word_embeddings) {
    specs.add("lm_head.weight", {config.vocab_size, config.hidden_size});
  }
  return list;
}

bool has_own_values(const ModelConfig& config, std::int64_t layer) {
  return config.decoder != DecoderKind::kResFormer || !config.first_layer_values_only || layer == 0;
}

std::int64_t num_averaged_outputs(const ModelConfig& config, std::int64_t layer) {
  const std::int64_t depth = layer + 1;
  if (config.decoder != DecoderKind::kDenseFormer || depth % config.denseformer.period != 0) {
    return 0;
  }
  return depth / config.denseformer.dilation + 1;
}

std::string depth_average_parameter(std::int64_t layer) {
  return fmt::format("model.dwa_modules.alphas.{}.weight", layer);
}

std::string layer_parameter(std::int64_t layer, std::string_view name) {
  return fmt::format("model.layers.{}.{}", layer, name);
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) count += element_count(spec.shape);
  return count;
}

}  // namespace lime
