// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/opt.h"

namespace lime {
namespace {

void read_opt(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  const bool has_weight = keys.boolean("layer_norm_elementwise_affine", true);
  spec.norm = {
      .kind = NormKind::kLayerNorm, .has_bias = has_weight, .has_weight = has_weight, .eps = 1e-5};
  const bool norm_before = keys.boolean("do_layer_norm_before", true);
  spec.norm_placement = norm_before ? NormPlacement::kBefore : NormPlacement::kAfterSum;
  spec.has_final_norm = !keys.boolean("_remove_final_layer_norm", false) && norm_before;
  set_learned_positions(spec, 2);
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
