// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gpt_bigcode.h"

namespace lime {
namespace {

void read_gpt_bigcode(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_epsilon");
  set_learned_positions(spec, 0);
  keys.find("num_key_value_heads");  // in files of transformers 5, follows from multi_query
  const bool has_one = keys.boolean("multi_query", true);
  if (has_one) config.num_key_value_heads = 1;
  spec.qkv_layout = has_one ? QkvLayout::kConcatenated : QkvLayout::kPerHead;
  spec.qkv_bias = true;
  spec.o_bias = true;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  if (!keys.boolean("scale_attn_weights", true)) spec.layers.front().attention_scale = 1.0;
  spec.names = {
      .prefix = "transformer.",
      .layers = "h",
      .embedding = "wte",
      .positions = "wpe",
      .input_norm = "ln_1",
      .mlp_norm = "ln_2",
      .q = "attn.q_proj",
      .k = "attn.k_proj",
      .v = "attn.v_proj",
      .qkv = "attn.c_attn",
      .o = "attn.c_proj",
      .up = "mlp.c_fc",
      .down = "mlp.c_proj",
      .final_norm = "ln_f",
      .ignored = {"attn.bias", "attn.masked_bias", "transformer.bias"},
  };
}

}  // namespace

const Family kGptBigCode = {.model_type = "gpt_bigcode",
                            .architecture = "GPTBigCodeForCausalLM",
                            .keys = {.hidden_size = "n_embd",
                                     .intermediate_size = "n_inner",
                                     .num_hidden_layers = "n_layer",
                                     .num_attention_heads = "n_head",
                                     .num_key_value_heads = nullptr,
                                     .head_dim = nullptr,
                                     .max_position_embeddings = "n_positions",
                                     .activation = "activation_function"},
                            .inner_per_hidden = 4,
                            .activation = "gelu_pytorch_tanh",
                            .max_position_embeddings = 1024,
                            .tie_word_embeddings = true,
                            .read = read_gpt_bigcode};

}  // namespace lime
