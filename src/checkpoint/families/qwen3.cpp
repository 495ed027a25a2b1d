// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/qwen3.h"

#include "checkpoint/families/llama.h"
#include "checkpoint/families/qwen2.h"

namespace lime {
namespace {

void read_qwen3(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  config.spec.qk_norm = QkNorm::kPerHead;
  config.spec.qkv_bias = keys.boolean("attention_bias", false);
  config.spec.o_bias = config.spec.qkv_bias;
  read_qwen_windows(keys, config);
}

}  // namespace

const Family kQwen3 = {.model_type = "qwen3",
                       .architecture = "Qwen3ForCausalLM",
                       .num_key_value_heads = 32,
                       .head_dim = 128,
                       .max_position_embeddings = 32768,
                       .read = read_qwen3};

}  // namespace lime
