// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parameters.h"

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

void require_known_router(const LimeConfig& lime) {
  const bool full = lime.router == RouterKind::kFull && lime.head_mixing && !lime.per_dimension;
  if ((full || lime.router == RouterKind::kNone) && !lime.dynamic) return;
  throw FormatError(
      "lime: the router must be full with head_mixing, or none, for this build; got router {}, "
      "head_mixing {}, per_dimension {}, dynamic {}",
      enum_name(lime.router), lime.head_mixing, lime.per_dimension, lime.dynamic);
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
  specs.add_linear(name("v_proj"), keys, hidden, config.qkv_bias);
  const bool routed =
      config.decoder == DecoderKind::kLime && config.lime.router != RouterKind::kNone;
  if (routed && layer > 0) {
    const std::int64_t heads = config.num_key_value_heads;
    specs.add(name("lime_router.static_weights"), {heads, (layer + 1) * heads});
  }
  specs.add_linear(name("o_proj"), hidden, queries, config.o_bias);
}

void add_layer(const ModelConfig& config, std::int64_t layer, SpecList& specs) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  specs.add(layer_parameter(layer, "input_layernorm.weight"), {hidden});
  add_attention(config, layer, specs);
  specs.add(layer_parameter(layer, "post_attention_layernorm.weight"), {hidden});
  specs.add_linear(layer_parameter(layer, "mlp.gate_proj"), inner, hidden, config.mlp_bias);
  specs.add_linear(layer_parameter(layer, "mlp.up_proj"), inner, hidden, config.mlp_bias);
  specs.add_linear(layer_parameter(layer, "mlp.down_proj"), hidden, inner, config.mlp_bias);
}

}  // namespace

std::vector<ParameterSpec> parameter_specs(const ModelConfig& config) {
  if (config.decoder == DecoderKind::kLime) require_known_router(config.lime);
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

std::string layer_parameter(std::int64_t layer, std::string_view name) {
  return fmt::format("model.layers.{}.{}", layer, name);
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) count += element_count(spec.shape);
  return count;
}

}  // namespace lime
