// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/hyperclovax.h"

namespace lime {
namespace {

/// Unlike Granite's, the logits are multiplied by `logits_scaling`.
void read_hyperclovax(const KeyReader& keys, ModelConfig& config) {
  read_llama(keys, config);
  DecoderSpec& spec = config.spec;
  spec.embedding_multiplier = keys.positive("embedding_multiplier", 1.0);
  spec.residual_multiplier = keys.positive("residual_multiplier", 1.0);
  spec.logits_divisor = 1.0 / keys.positive("logits_scaling", 1.0);
  if (keys.find("attention_multiplier") != nullptr) {
    spec.layers.front().attention_scale = keys.positive("attention_multiplier", 1.0);
  }
  if (!keys.boolean("use_post_norm", true)) return;
  spec.norm_placement = NormPlacement::kBoth;
  spec.names.attention_norm = "post_norm1";
  spec.names.output_norm = "post_norm2";
}

}  // namespace

const Family kHyperClovaX = {.model_type = "hyperclovax",
                             .architecture = "HyperCLOVAXForCausalLM",
                             .read = read_hyperclovax};

}  // namespace lime
