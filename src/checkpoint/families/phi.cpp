// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/phi.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_phi(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_eps");
  if (keys.boolean("qk_layernorm", false)) spec.qk_norm = QkNorm::kPerHead;
  spec.ropes = {read_rope(keys, config, {.may_be_partial = true})};
  set_rotary_dim(keys, "partial_rotary_factor", 0.5, config, OneDimension::kRefused);
  spec.qkv_bias = true;
  spec.o_bias = true;
  spec.mlp_bias = true;
  spec.output_bias = true;
  spec.gated_mlp = false;
  spec.parallel_residual = true;
  spec.shares_input_norm = true;
  spec.names.q_norm = "self_attn.q_layernorm";
  spec.names.k_norm = "self_attn.k_layernorm";
  spec.names.o = "self_attn.dense";
  spec.names.up = "mlp.fc1";
  spec.names.down = "mlp.fc2";
  spec.names.final_norm = "final_layernorm";
}

}  // namespace

const Family kPhi = {.model_type = "phi",
                     .architecture = "PhiForCausalLM",
                     .activation = "gelu_new",
                     .read = read_phi};

}  // namespace lime
