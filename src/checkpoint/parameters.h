// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/safetensors.h"

namespace lime {

/// Describes a parameter under its Hugging Face name.
struct ParameterSpec {
  std::string name;
  Shape shape;
};

/// Lists all parameters of a decoder in the order of the forward pass: `model.embed_tokens.weight`,
/// then
/// `model.layers.{l}.` with `input_layernorm.weight`, `self_attn.{q,k,v}_proj.weight|bias`,
/// `self_attn.o_proj.weight|bias`, `post_attention_layernorm.weight`,
/// `mlp.{gate,up,down}_proj.weight|bias`, then `model.norm.weight` and, unless tied,
/// `lm_head.weight`. Projections are [outputs, inputs]. Besides:
///
///   lime               `self_attn.lime_router.static_weights` (l >= 1; see static_router_shape(),
///                      oldest source first), before `o_proj`; or, if dynamic,
///                      `self_attn.lime_router.q_proj.weight` [kv_heads * head_dim, hidden] and
///                      `self_attn.lime_router.keys` [S * kv_heads, head_dim] ([S, head_dim]
///                      without head mixing)
///   denseformer        `model.dwa_modules.alphas.{l}.weight` [1, outputs averaged], oldest first,
///                      after the layers that average
///   hyper_connections  `hc_attn.` and `hc_mlp.` with `static_alpha` [rate, rate + 1],
///                      `static_beta` [rate] and, if dynamic, `dynamic_alpha_fn` [hidden, rate +
///                      1], `dynamic_alpha_scale` [1], `dynamic_beta_fn` [hidden],
///                      `dynamic_beta_scale` [1], as the LIMe paper's code has them; its layers'
///                      norms have no weights
///   resformer          no `v_proj` for l >= 1 if first_layer_values_only
std::vector<ParameterSpec> parameter_specs(const ModelConfig& config);

/// Returns false for the layers of an SVFormer that read the values of layer 0.
bool has_own_values(const ModelConfig& config, std::int64_t layer);

/// Returns the number of outputs that DenseFormer's average after `layer` reads: this layer's and
/// every dilation-th before it, down to the embedding; 0 if there is no average.
std::int64_t num_averaged_outputs(const ModelConfig& config, std::int64_t layer);

/// `model.dwa_modules.alphas.{layer}.weight`.
std::string depth_average_parameter(std::int64_t layer);

/// `model.layers.{layer}.{name}`.
std::string layer_parameter(std::int64_t layer, std::string_view name);

/// Returns the number of scalars in parameter_specs(); a tied embedding counts once.
std::int64_t parameter_count(const ModelConfig& config);

}  // namespace lime
