// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gemma.h"

#include <cmath>

#include "checkpoint/families/rope_reading.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

/// Sets what all generations have in common: norms, embedding scale and biases.
void read_gemma_basics(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.kind = NormKind::kRmsPlusOne,
               .eps = read_norm_eps(keys, "rms_norm_eps", 1e-6),
               .rounds_after_weight = true};
  spec.embedding_multiplier = std::sqrt(static_cast<double>(config.hidden_size));
  read_attention_bias(keys, config);
}

/// The first files of Gemma contain `gelu` for its approximation by tanh.
void read_gemma_activation(const KeyReader& keys, ModelConfig& config) {
  if (keys.text("hidden_act") == "gelu") config.spec.activation = Activation::kGeluTanh;
  const auto older = keys.text("hidden_activation");
  if (!older || older == enum_name(config.spec.activation)) return;
  keys.fail("hidden_activation",
            fmt::format("absent or the activation that hidden_act stands for, {}",
                        enum_name(config.spec.activation)),
            *older);
}

void read_gemma(const KeyReader& keys, ModelConfig& config) {
  read_gemma_basics(keys, config);
  read_gemma_activation(keys, config);
  config.spec.ropes = {read_rope(keys, config)};
}

/// Sets what Gemma 2 and Gemma 3 have in common: norms, attention scale and embedding scale.
void read_gemma2_blocks(const KeyReader& keys, ModelConfig& config) {
  read_gemma_basics(keys, config);
  DecoderSpec& spec = config.spec;
  spec.norm_placement = NormPlacement::kBoth;
  spec.names.mlp_norm = "pre_feedforward_layernorm";
  spec.layers.front().attention_scale =
      1.0 / std::sqrt(keys.positive("query_pre_attn_scalar", 256.0));
  keys.find("hidden_act");  // in some files, but transformers reads hidden_activation
}

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

void read_vaultgemma(const KeyReader& keys, ModelConfig& config) {
  read_gemma2(keys, config);
  config.spec.norm_placement = NormPlacement::kBefore;
}

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

const Family kGemma = {.model_type = "gemma",
                       .architecture = "GemmaForCausalLM",
                       .num_key_value_heads = 16,
                       .head_dim = 256,
                       .activation = "gelu_pytorch_tanh",
                       .max_position_embeddings = 8192,
                       .tie_word_embeddings = true,
                       .read = read_gemma};

const Family kGemma2 = {.model_type = "gemma2",
                        .architecture = "Gemma2ForCausalLM",
                        .keys = {.activation = "hidden_activation"},
                        .num_key_value_heads = 4,
                        .head_dim = 256,
                        .activation = "gelu_pytorch_tanh",
                        .max_position_embeddings = 8192,
                        .tie_word_embeddings = true,
                        .read = read_gemma2};

const Family kVaultGemma = {.model_type = "vaultgemma",
                            .architecture = "VaultGemmaForCausalLM",
                            .keys = {.activation = "hidden_activation"},
                            .num_key_value_heads = 4,
                            .head_dim = 256,
                            .activation = "gelu_pytorch_tanh",
                            .max_position_embeddings = 8192,
                            .tie_word_embeddings = true,
                            .read = read_vaultgemma};

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
