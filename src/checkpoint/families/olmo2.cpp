// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/olmo2.h"

#include "checkpoint/families/rope.h"

namespace lime {
namespace {

void read_olmo2(const KeyReader& keys, ModelConfig& config) {
  read_olmo2_blocks(keys, config);
  config.spec.ropes = {read_rope(keys, config)};
}

}  // namespace

void read_olmo2_blocks(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.eps = keys.number("rms_norm_eps").value_or(1e-5), .rounds_after_weight = true};
  spec.norm_placement = NormPlacement::kAfter;
  spec.qk_norm = QkNorm::kWholeProjection;
  spec.qkv_bias = keys.boolean("attention_bias", false);
  spec.o_bias = spec.qkv_bias;
}

const Family kOlmo2 = {
    .model_type = "olmo2", .architecture = "Olmo2ForCausalLM", .read = read_olmo2};

}  // namespace lime
