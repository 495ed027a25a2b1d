// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/stablelm.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_stablelm(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_eps");
  spec.qkv_bias = keys.boolean("use_qkv_bias", false);
  spec.parallel_residual = keys.boolean("use_parallel_residual", false);
  spec.shares_input_norm = spec.parallel_residual;
  if (keys.boolean("qk_layernorm", false)) {
    refuse_variant(keys, "qk_layernorm", "false, because norms with a tensor per head", config);
  }
  spec.ropes = {read_rope(keys, config, {.may_be_partial = true})};
  set_rotary_dim(keys, "partial_rotary_factor", 0.25, config, OneDimension::kRefused);
}

}  // namespace

const Family kStableLm = {.model_type = "stablelm",
                          .architecture = "StableLmForCausalLM",
                          .keys = {.head_dim = nullptr},
                          .num_key_value_heads = 32,
                          .max_position_embeddings = 4096,
                          .read = read_stablelm};

}  // namespace lime
