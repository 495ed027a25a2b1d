// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gpt2.h"

#include <cmath>

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
  spec.norm = read_layer_norm(keys, "layer_norm_epsilon");
  set_learned_positions(spec, 0);
  spec.qkv_layout = QkvLayout::kConcatenated;
  spec.transposed_linears = true;
  spec.qkv_bias = true;
  spec.o_bias = true;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  spec.names = gpt2_names();
  read_attention_scales(keys, config);
}

}  // namespace

TensorNames gpt2_names() {
  return {
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
}

const Family kGpt2 = {.model_type = "gpt2",
                      .architecture = "GPT2LMHeadModel",
                      .keys = kGpt2Keys,
                      .inner_per_hidden = 4,
                      .activation = "gelu_new",
                      .max_position_embeddings = 1024,
                      .tie_word_embeddings = true,
                      .read = read_gpt2};

}  // namespace lime
