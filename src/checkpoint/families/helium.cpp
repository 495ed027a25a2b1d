// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/helium.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

void read_helium(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.eps = read_norm_eps(keys, "rms_norm_eps", 1e-8), .rounds_after_weight = true};
  spec.ropes = {read_whole_rope(keys, config, 100000.0)};
  spec.interleaved_rotation = true;
  spec.qkv_bias = keys.boolean("attention_bias", false);
  spec.mlp_bias = keys.boolean("mlp_bias", false);
  const std::int64_t width = config.num_attention_heads * config.head_dim;
  if (width == config.hidden_size) return;
  keys.fail("hidden_size", fmt::format("num_attention_heads * head_dim = {}", width),
            config.hidden_size);
}

}  // namespace

const Family kHelium = {.model_type = "helium",
                        .architecture = "HeliumForCausalLM",
                        .num_key_value_heads = 20,
                        .max_position_embeddings = 4096,
                        .read = read_helium};

}  // namespace lime
