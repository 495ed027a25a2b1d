// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/llama.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {

void read_llama_basics(const KeyReader& keys, ModelConfig& config) {
  config.spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", config.spec.norm.eps);
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

/// Epsilon of the norms of InternLM3 and IQuest-Coder if the file has none.
constexpr double kUsualEps = 1e-5;

/// Reads a bias that the file calls as LLaMA does, or by InternLM3's own name.
bool read_bias(const KeyReader& keys, const char* own, const char* llama) {
  const bool named_as_llama = keys.boolean(llama, false);
  const bool bias = keys.boolean(own, named_as_llama);
  if (bias != named_as_llama && keys.find(llama) != nullptr) {
    keys.fail(own, fmt::format("{}, as '{}'", named_as_llama, llama), bias);
  }
  return bias;
}

/// The projections before and after attention, and the MLP, all have biases, or none has.
void read_internlm3(const KeyReader& keys, ModelConfig& config) {
  config.spec.norm.eps = kUsualEps;
  read_llama_basics(keys, config);
  const bool attention = read_bias(keys, "qkv_bias", "attention_bias");
  const bool mlp = read_bias(keys, "bias", "mlp_bias");
  if (attention != mlp) {
    const bool is_own = keys.find("bias") != nullptr;
    keys.fail(is_own ? "bias" : "mlp_bias", fmt::format("{}, as the bias of attention", attention),
              mlp);
  }
  config.spec.qkv_bias = attention;
  config.spec.o_bias = attention;
  config.spec.mlp_bias = mlp;
}

/// transformers does not implement what it refuses here, and no released checkpoint uses it.
void read_iquestcoder(const KeyReader& keys, ModelConfig& config) {
  if (const Json* const clip = keys.find("clip_qkv")) {
    keys.fail("clip_qkv", "null, as in the released models", *clip);
  }
  if (keys.boolean("use_sliding_window", false)) {
    keys.fail("use_sliding_window", "false, as in the released models", true);
  }
  config.spec.norm.eps = kUsualEps;
  read_llama(keys, config);
}

}  // namespace

const Family kLlama = {.model_type = "llama",
                       .architecture = "LlamaForCausalLM",
                       .read = read_llama,
                       .write = write_llama};

const Family kInternLm3 = {.model_type = "internlm3",
                           .architecture = "LlamaForCausalLM",
                           .num_key_value_heads = 2,
                           .head_dim = 128,
                           .max_position_embeddings = 32768,
                           .read = read_internlm3};

const Family kIQuestCoder = {.model_type = "iquestcoder",
                             .architecture = "LlamaForCausalLM",
                             .num_key_value_heads = 8,
                             .head_dim = 128,
                             .max_position_embeddings = 131072,
                             .read = read_iquestcoder};

}  // namespace lime
