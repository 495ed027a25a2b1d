// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "checkpoint/families/family.h"

namespace lime {
namespace {

/// Dot products are divided by sqrt(head_dim), by the number of the layer, both, or neither.
void read_attention_scales(const KeyReader& keys, ModelConfig& config) {
  const bool by_size = keys.boolean("scale_attn_weights", true);
  const bool by_layer = keys.boolean("scale_attn_by_inverse_layer_idx", false);
  if (by_size && !by_layer) return;
  const double scale = by_size ? 1.0 / std::sqrt(static_cast<double>(config.head_dim)) : 1.0;
  LayerSpec layer = config.spec.layers.front();
  config.spec.layers.clear();
  const std::int64_t count = by_layer ? config.num_hidden_layers : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    layer.attention_scale = scale / static_cast<double>(i + 1);
    config.spec.layers.push_back(layer);
  }
}

void read_gpt2(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.kind = NormKind::kLayerNorm,
               .has_bias = true,
               .eps = keys.number("layer_norm_epsilon").value_or(1e-5)};
  spec.ropes.clear();
  spec.layers.front().rope = std::nullopt;
  spec.learned_position_offset = 0;
  spec.qkv_layout = QkvLayout::kConcatenated;
  spec.transposed_linears = true;
  spec.qkv_bias = true;
  spec.o_bias = true;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
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
      .ignored = {"attn.bias", "attn.masked_bias"},
  };
  read_attention_scales(keys, config);
}

}  // namespace

const Family kGpt2 = {.model_type = "gpt2",
                      .architecture = "GPT2LMHeadModel",
                      .keys = {.hidden_size = "n_embd",
                               .intermediate_size = "n_inner",
                               .num_hidden_layers = "n_layer",
                               .num_attention_heads = "n_head",
                               .num_key_value_heads = nullptr,
                               .head_dim = nullptr,
                               .max_position_embeddings = "n_positions",
                               .activation = "activation_function"},
                      .inner_per_hidden = 4,
                      .activation = "gelu_new",
                      .max_position_embeddings = 1024,
                      .tie_word_embeddings = true,
                      .read = read_gpt2};

namespace {

void read_gpt_neox(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.kind = NormKind::kLayerNorm,
               .has_bias = true,
               .eps = keys.number("layer_norm_eps").value_or(1e-5)};
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

namespace {

void read_opt(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  const bool has_weight = keys.boolean("layer_norm_elementwise_affine", true);
  spec.norm = {
      .kind = NormKind::kLayerNorm, .has_bias = has_weight, .has_weight = has_weight, .eps = 1e-5};
  const bool norm_before = keys.boolean("do_layer_norm_before", true);
  spec.norm_placement = norm_before ? NormPlacement::kBefore : NormPlacement::kAfterSum;
  spec.has_final_norm = !keys.boolean("_remove_final_layer_norm", false) && norm_before;
  spec.ropes.clear();
  spec.layers.front().rope = std::nullopt;
  spec.learned_position_offset = 2;
  spec.qkv_bias = keys.boolean("enable_bias", true);
  spec.o_bias = spec.qkv_bias;
  spec.mlp_bias = spec.qkv_bias;
  spec.gated_mlp = false;
  spec.embedding_size = keys.integer("word_embed_proj_dim");
  if (spec.embedding_size == config.hidden_size) spec.embedding_size = std::nullopt;
  spec.names = {
      .prefix = "model.decoder.",
      .input_norm = "self_attn_layer_norm",
      .attention_norm = "self_attn_layer_norm",
      .mlp_norm = "final_layer_norm",
      .output_norm = "final_layer_norm",
      .o = "self_attn.out_proj",
      .up = "fc1",
      .down = "fc2",
      .final_norm = "final_layer_norm",
      .ignored = {"decoder.version"},
  };
}

}  // namespace

const Family kOpt = {.model_type = "opt",
                     .architecture = "OPTForCausalLM",
                     .keys = {.intermediate_size = "ffn_dim",
                              .num_key_value_heads = nullptr,
                              .head_dim = nullptr,
                              .activation = "activation_function"},
                     .activation = "relu",
                     .tie_word_embeddings = true,
                     .read = read_opt};

}  // namespace lime
