// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/ernie4_5.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_ernie4_5(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  spec.ropes = {read_whole_rope(keys, config, 500000.0)};
  spec.interleaved_rotation = true;
  spec.qkv_bias = keys.boolean("use_bias", false);
  spec.o_bias = spec.qkv_bias;
  spec.mlp_bias = spec.qkv_bias;
}

}  // namespace

const Family kErnie45 = {.model_type = "ernie4_5",
                         .architecture = "Ernie4_5ForCausalLM",
                         .num_key_value_heads = 2,
                         .head_dim = 128,
                         .max_position_embeddings = 131072,
                         .tie_word_embeddings = true,
                         .read = read_ernie4_5};

}  // namespace lime
