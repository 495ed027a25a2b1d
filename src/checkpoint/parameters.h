// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/safetensors.h"

namespace lime {

/// A parameter under its Hugging Face name.
struct ParameterSpec {
  std::string name;
  Shape shape;
};

/// All parameters of a decoder in the order of the forward pass: `model.embed_tokens.weight`, then
/// `model.layers.{l}.` with `input_layernorm.weight`, `self_attn.{q,k,v}_proj.weight|bias`,
/// `self_attn.lime_router.static_weights` (lime, l >= 1), `self_attn.o_proj.weight|bias`,
/// `post_attention_layernorm.weight`, `mlp.{gate,up,down}_proj.weight|bias`, then
/// `model.norm.weight` and, unless tied, `lm_head.weight`.
///
/// Projections are [outputs, inputs]; a router is [kv_heads, (l + 1) * kv_heads], row = routed
/// head, column = buffered layer * kv_heads + buffered head, oldest layer first.
/// @throws FormatError  if the config is a LIMe whose router this build does not have.
std::vector<ParameterSpec> parameter_specs(const ModelConfig& config);

/// `model.layers.{layer}.{name}`.
std::string layer_parameter(std::int64_t layer, std::string_view name);

/// Number of scalars in parameter_specs(); a tied embedding counts once.
std::int64_t parameter_count(const ModelConfig& config);

}  // namespace lime
