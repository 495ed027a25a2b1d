// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/seed_oss.h"

namespace lime {
namespace {

void read_seed_oss(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  config.spec.qkv_bias = keys.boolean("attention_bias", true);
  config.spec.o_bias = keys.boolean("attention_out_bias", false);
  config.spec.mlp_bias = keys.boolean("mlp_bias", false);
}

}  // namespace

const Family kSeedOss = {.model_type = "seed_oss",
                         .architecture = "SeedOssForCausalLM",
                         .num_key_value_heads = 8,
                         .head_dim = 128,
                         .max_position_embeddings = 524288,
                         .read = read_seed_oss};

}  // namespace lime
