// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/falcon.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

/// Sets which norms precede attention and MLP. Other combinations fail in transformers, too.
void read_falcon_norms(const KeyReader& keys, bool is_new, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_epsilon");
  spec.parallel_residual = keys.boolean("parallel_attn", true);
  if (is_new && !spec.parallel_residual) {
    keys.fail("parallel_attn", "true with new_decoder_architecture", false);
  }
  const std::int64_t usual = is_new ? 2 : 1;
  const std::int64_t norms = keys.integer("num_ln_in_parallel_attn").value_or(usual);
  if (spec.parallel_residual && norms != 1 && norms != usual) {
    keys.fail("num_ln_in_parallel_attn", is_new ? "1 or 2" : "1 without new_decoder_architecture",
              norms);
  }
  spec.shares_input_norm = spec.parallel_residual && norms == 1;
  if (!spec.parallel_residual || spec.shares_input_norm) return;
  spec.names.input_norm = "ln_attn";
  spec.names.mlp_norm = "ln_mlp";
}

/// Sets the number of key-value heads and the order of rows in the fused projection.
void read_falcon_heads(const KeyReader& keys, bool is_new, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  const bool has_one = keys.boolean("multi_query", true) && !is_new;
  spec.qkv_layout = has_one ? QkvLayout::kConcatenated : QkvLayout::kPerHead;
  if (has_one) {
    config.num_key_value_heads = 1;
  } else if (!is_new && config.num_key_value_heads != config.num_attention_heads) {
    keys.fail("num_kv_heads",
              fmt::format("num_attention_heads = {} without multi_query and "
                          "new_decoder_architecture",
                          config.num_attention_heads),
              config.num_key_value_heads);
  }
}

void read_falcon(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.names = {
      .prefix = "transformer.",
      .layers = "h",
      .embedding = "word_embeddings",
      .q = "self_attention.q_proj",
      .k = "self_attention.k_proj",
      .v = "self_attention.v_proj",
      .qkv = "self_attention.query_key_value",
      .o = "self_attention.dense",
      .up = "mlp.dense_h_to_4h",
      .down = "mlp.dense_4h_to_h",
      .final_norm = "ln_f",
  };
  if (keys.boolean("alibi", false)) {
    refuse_variant(keys, "alibi", "false, because biases of distance", config);
  }
  const bool is_new = keys.boolean("new_decoder_architecture", false);
  read_falcon_norms(keys, is_new, config);
  read_falcon_heads(keys, is_new, config);
  spec.ropes = {read_whole_rope(keys, config)};
  spec.qkv_bias = keys.boolean("bias", false);
  spec.o_bias = spec.qkv_bias;
  spec.mlp_bias = spec.qkv_bias;
  spec.gated_mlp = false;
}

}  // namespace

const Family kFalcon = {.model_type = "falcon",
                        .architecture = "FalconForCausalLM",
                        .keys = {.intermediate_size = "ffn_hidden_size",
                                 .num_key_value_heads = "num_kv_heads",
                                 .head_dim = nullptr,
                                 .activation = "activation"},
                        .inner_per_hidden = 4,
                        .activation = "gelu",
                        .tie_word_embeddings = true,
                        .read = read_falcon};

}  // namespace lime
