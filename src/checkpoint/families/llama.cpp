// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/llama.h"

namespace lime {

void read_llama_basics(const KeyReader& keys, ModelConfig& config) {
  config.spec.norm.eps = keys.number("rms_norm_eps").value_or(config.spec.norm.eps);
  refuse_partial_rotation(keys);
  config.spec.ropes = {read_rope(keys, config)};
}

void write_llama_basics(const ModelConfig& config, Json& json) {
  json["rms_norm_eps"] = config.spec.norm.eps;
  write_rope(config.spec.ropes.front(), json);
}

void read_llama(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  read_attention_bias(keys, config);
  config.spec.mlp_bias = keys.boolean("mlp_bias", false);
}

namespace {

void write_llama(const ModelConfig& config, Json& json) {
  write_llama_basics(config, json);
  json["attention_bias"] = config.spec.qkv_bias;
  json["mlp_bias"] = config.spec.mlp_bias;
}

}  // namespace

const Family kLlama = {.model_type = "llama",
                       .architecture = "LlamaForCausalLM",
                       .read = read_llama,
                       .write = write_llama};

}  // namespace lime
