// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/glm.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_glm(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1.5625e-7);
  spec.ropes = {read_rope(keys, config, {.may_be_partial = true})};
  spec.interleaved_rotation = true;
  set_rotary_dim(keys, "partial_rotary_factor", 0.5, config);
  spec.qkv_bias = keys.boolean("attention_bias", true);
  spec.fused_gate_up = true;
}

void read_glm4(const KeyReader& keys, ModelConfig& config) {
  read_glm(keys, config);
  config.spec.norm_placement = NormPlacement::kBoth;
  config.spec.names.attention_norm = "post_self_attn_layernorm";
  config.spec.names.output_norm = "post_mlp_layernorm";
}

}  // namespace

const Family kGlm = {.model_type = "glm",
                     .architecture = "GlmForCausalLM",
                     .num_key_value_heads = 2,
                     .head_dim = 128,
                     .max_position_embeddings = 131072,
                     .read = read_glm};

const Family kGlm4 = {.model_type = "glm4",
                      .architecture = "Glm4ForCausalLM",
                      .num_key_value_heads = 2,
                      .head_dim = 128,
                      .max_position_embeddings = 131072,
                      .read = read_glm4};

}  // namespace lime
