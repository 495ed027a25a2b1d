// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gpt_neox.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_gpt_neox(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_eps");
  spec.qkv_layout = QkvLayout::kPerHead;
  read_attention_bias(keys, config, true);
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  spec.parallel_residual = keys.boolean("use_parallel_residual", true);
  spec.names = {
      .prefix = "gpt_neox.",
      .embedding = "embed_in",
      .q = "attention.q_proj",
      .k = "attention.k_proj",
      .v = "attention.v_proj",
      .qkv = "attention.query_key_value",
      .o = "attention.dense",
      .up = "mlp.dense_h_to_4h",
      .down = "mlp.dense_4h_to_h",
      .final_norm = "final_layer_norm",
      .output = "embed_out",
      .output_alias = "lm_head",  // of transformers 5 in memory; save_pretrained() renames it
      .ignored = {"attention.bias", "attention.masked_bias"},
  };
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
