// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/granite.h"

namespace lime {
namespace {

void read_granite(const KeyReader& keys, ModelConfig& config) {
  read_llama(keys, config);
  DecoderSpec& spec = config.spec;
  spec.embedding_multiplier = keys.positive("embedding_multiplier", 1.0);
  spec.residual_multiplier = keys.positive("residual_multiplier", 1.0);
  spec.logits_divisor = keys.positive("logits_scaling", 1.0);
  spec.layers.front().attention_scale = keys.positive("attention_multiplier", 1.0);
}

}  // namespace

const Family kGranite = {
    .model_type = "granite", .architecture = "GraniteForCausalLM", .read = read_granite};

}  // namespace lime
