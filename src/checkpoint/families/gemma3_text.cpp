// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gemma3_text.h"

#include "checkpoint/families/gemma2.h"
#include "checkpoint/families/rope.h"
#include "checkpoint/families/windows.h"

namespace lime {
namespace {

void read_gemma3_text(const KeyReader& keys, ModelConfig& config) {
  read_gemma2_blocks(keys, config);
  config.spec.qk_norm = QkNorm::kPerHead;
  config.spec.logits_softcap = keys.number("final_logit_softcapping");
  if (const Json* const cap = keys.find("attn_logit_softcapping")) {
    keys.fail("attn_logit_softcapping", "null, because transformers does not apply it", *cap);
  }
  const std::int64_t pattern = keys.integer("sliding_window_pattern").value_or(6);
  if (pattern < 1) keys.fail("sliding_window_pattern", "at least 1", pattern);
  set_alternating_windows(keys, config, pattern);
  set_ropes_by_window(config,
                      read_ropes_by_layer_type(keys, config,
                                               {.full_theta = 1000000.0,
                                                .sliding_theta = 10000.0,
                                                .sliding_theta_key = "rope_local_base_freq"}));
}

}  // namespace

const Family kGemma3Text = {.model_type = "gemma3_text",
                            .architecture = "Gemma3ForCausalLM",
                            .keys = {.activation = "hidden_activation"},
                            .num_key_value_heads = 4,
                            .head_dim = 256,
                            .activation = "gelu_pytorch_tanh",
                            .max_position_embeddings = 131072,
                            .tie_word_embeddings = true,
                            .read = read_gemma3_text};

}  // namespace lime
