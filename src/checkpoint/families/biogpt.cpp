// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/biogpt.h"

#include <cmath>

namespace lime {
namespace {

void read_biogpt(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  keys.find("layer_norm_eps");  // in its files, but transformers does not use it
  spec.norm = {.kind = NormKind::kLayerNorm, .has_bias = true, .eps = 1e-5};
  set_learned_positions(spec, 2);
  if (keys.boolean("scale_embedding", true)) {
    spec.embedding_multiplier = std::sqrt(static_cast<double>(config.hidden_size));
  }
  spec.qkv_bias = true;
  spec.o_bias = true;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  spec.names = {
      .prefix = "biogpt.",
      .input_norm = "self_attn_layer_norm",
      .mlp_norm = "final_layer_norm",
      .o = "self_attn.out_proj",
      .up = "fc1",
      .down = "fc2",
      .final_norm = "layer_norm",
      .output = "output_projection",
  };
}

}  // namespace

const Family kBioGpt = {.model_type = "biogpt",
                        .architecture = "BioGptForCausalLM",
                        .keys = {.num_key_value_heads = nullptr, .head_dim = nullptr},
                        .activation = "gelu",
                        .max_position_embeddings = 1024,
                        .tie_word_embeddings = true,
                        .read = read_biogpt};

}  // namespace lime
