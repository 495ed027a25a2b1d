// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/starcoder2.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_starcoder2(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "norm_epsilon");
  spec.ropes = {read_whole_rope(keys, config)};
  spec.layers.front().window = keys.integer("sliding_window");
  spec.qkv_bias = keys.boolean("use_bias", true);
  spec.o_bias = spec.qkv_bias;
  spec.mlp_bias = spec.qkv_bias;
  spec.gated_mlp = false;
  spec.names.up = "mlp.c_fc";
  spec.names.down = "mlp.c_proj";
}

}  // namespace

const Family kStarcoder2 = {.model_type = "starcoder2",
                            .architecture = "Starcoder2ForCausalLM",
                            .num_key_value_heads = 2,
                            .activation = "gelu_pytorch_tanh",
                            .max_position_embeddings = 4096,
                            .tie_word_embeddings = true,
                            .read = read_starcoder2};

}  // namespace lime
