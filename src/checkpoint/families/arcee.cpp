// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/arcee.h"

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

/// Sets what both have in common: biases and the MLP.
void read_arcee_blocks(const KeyReader& keys, ModelConfig& config, bool has_biases) {
  DecoderSpec& spec = config.spec;
  spec.ropes = {read_whole_rope(keys, config)};
  read_attention_bias(keys, config, has_biases);
  spec.gated_mlp = false;
  spec.mlp_bias = keys.boolean("mlp_bias", has_biases);
}

void read_arcee(const KeyReader& keys, ModelConfig& config) {
  config.spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  read_arcee_blocks(keys, config, false);
}

void read_jais2(const KeyReader& keys, ModelConfig& config) {
  config.spec.norm = read_layer_norm(keys, "layer_norm_eps");
  read_arcee_blocks(keys, config, true);
}

}  // namespace

const Family kArcee = {.model_type = "arcee",
                       .architecture = "ArceeForCausalLM",
                       .activation = "relu2",
                       .max_position_embeddings = 4096,
                       .read = read_arcee};

const Family kJais2 = {.model_type = "jais2",
                       .architecture = "Jais2ForCausalLM",
                       .activation = "relu2",
                       .max_position_embeddings = 8192,
                       .read = read_jais2};

}  // namespace lime
