// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gpt_neox.h"

#include "checkpoint/families/rope.h"

namespace lime {
namespace {

TensorNames gpt_neox_names() {
  TensorNames names;
  names.prefix = "gpt_neox.";
  names.embedding = "embed_in";
  names.q = "attention.q_proj";
  names.k = "attention.k_proj";
  names.v = "attention.v_proj";
  names.qkv = "attention.query_key_value";
  names.o = "attention.dense";
  names.up = "mlp.dense_h_to_4h";
  names.down = "mlp.dense_4h_to_h";
  names.final_norm = "final_layer_norm";
  names.output = "embed_out";
  names.output_alias = "lm_head";  // of transformers 5 in memory; save_pretrained() renames it
  names.ignored = {"attention.bias", "attention.masked_bias"};
  return names;
}

void read_gpt_neox(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.kind = NormKind::kLayerNorm,
               .has_bias = true,
               .eps = keys.number("layer_norm_eps").value_or(1e-5)};
  spec.qkv_layout = QkvLayout::kPerHead;
  spec.qkv_bias = keys.boolean("attention_bias", true);
  spec.o_bias = spec.qkv_bias;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  spec.parallel_residual = keys.boolean("use_parallel_residual", true);
  spec.names = gpt_neox_names();
  spec.ropes = {read_rope(keys, config, {.theta_key = "rotary_emb_base", .may_be_partial = true})};
  const double theta = spec.ropes.front().theta;
  if (keys.number("rope_theta").value_or(theta) != theta) {
    keys.fail("rope_theta", fmt::format("{}, as 'rotary_emb_base'", theta),
              *keys.find("rope_theta"));
  }
  set_rotary_dim(keys, "rotary_pct", 0.25, config);
}

}  // namespace

const Family kGptNeoX = {.model_type = "gpt_neox",
                         .architecture = "GPTNeoXForCausalLM",
                         .keys = {.num_key_value_heads = nullptr, .head_dim = nullptr},
                         .activation = "gelu",
                         .read = read_gpt_neox};

}  // namespace lime
