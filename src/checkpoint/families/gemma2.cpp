// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gemma2.h"

#include <cmath>

#include "checkpoint/families/gemma.h"
#include "checkpoint/families/rope.h"
#include "checkpoint/families/windows.h"

namespace lime {
namespace {

/// Returns a soft cap, for which null means none.
std::optional<double> read_cap(const KeyReader& keys, const char* key, double otherwise) {
  return keys.contains(key) ? keys.number(key) : otherwise;
}

void read_gemma2(const KeyReader& keys, ModelConfig& config) {
  read_gemma2_blocks(keys, config);
  config.spec.attention_softcap = read_cap(keys, "attn_logit_softcapping", 50.0);
  config.spec.logits_softcap = read_cap(keys, "final_logit_softcapping", 30.0);
  config.spec.ropes = {read_rope(keys, config)};
  set_alternating_windows(keys, config, 2);
}

}  // namespace

void read_gemma2_blocks(const KeyReader& keys, ModelConfig& config) {
  read_gemma_basics(keys, config);
  DecoderSpec& spec = config.spec;
  spec.norm_placement = NormPlacement::kBoth;
  spec.names.mlp_norm = "pre_feedforward_layernorm";
  const double scalar = keys.number("query_pre_attn_scalar").value_or(256.0);
  if (!(scalar > 0.0)) keys.fail("query_pre_attn_scalar", "a positive number", scalar);
  spec.layers.front().attention_scale = 1.0 / std::sqrt(scalar);
  keys.find("hidden_act");  // in some files, but transformers reads hidden_activation
}

const Family kGemma2 = {.model_type = "gemma2",
                        .architecture = "Gemma2ForCausalLM",
                        .keys = {.activation = "hidden_activation"},
                        .num_key_value_heads = 4,
                        .head_dim = 256,
                        .activation = "gelu_pytorch_tanh",
                        .max_position_embeddings = 8192,
                        .tie_word_embeddings = true,
                        .read = read_gemma2};

}  // namespace lime
