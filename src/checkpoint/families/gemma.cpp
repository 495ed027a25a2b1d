// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gemma.h"

#include <cmath>

#include "checkpoint/families/rope.h"

namespace lime {
namespace {

/// The first files of Gemma say `gelu` and mean its approximation by tanh. transformers 5 reads
/// `hidden_act`, transformers 4 `hidden_activation`.
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

}  // namespace

void read_gemma_basics(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.kind = NormKind::kRmsPlusOne,
               .eps = keys.number("rms_norm_eps").value_or(1e-6),
               .rounds_after_weight = true};
  spec.embedding_multiplier = std::sqrt(static_cast<double>(config.hidden_size));
  spec.qkv_bias = keys.boolean("attention_bias", false);
  spec.o_bias = spec.qkv_bias;
}

const Family kGemma = {.model_type = "gemma",
                       .architecture = "GemmaForCausalLM",
                       .num_key_value_heads = 16,
                       .head_dim = 256,
                       .activation = "gelu_pytorch_tanh",
                       .max_position_embeddings = 8192,
                       .tie_word_embeddings = true,
                       .read = read_gemma};

}  // namespace lime
