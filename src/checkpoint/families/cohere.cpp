// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/cohere.h"

#include "checkpoint/families/rope_reading.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

/// Sets what both have in common: norms, biases and the scale of the logits.
void read_cohere_blocks(const KeyReader& keys, ModelConfig& config, double theta) {
  DecoderSpec& spec = config.spec;
  spec.norm = read_layer_norm(keys, "layer_norm_eps");
  spec.norm.has_bias = false;
  spec.norm.rounds_after_weight = true;
  spec.parallel_residual = true;
  spec.shares_input_norm = true;
  spec.ropes = {read_whole_rope(keys, config, theta)};
  spec.interleaved_rotation = true;
  spec.logits_divisor = 1.0 / keys.positive("logit_scale", 0.0625);
  read_attention_bias(keys, config);
}

void read_cohere(const KeyReader& keys, ModelConfig& config) {
  read_cohere_blocks(keys, config, 500000.0);
  if (keys.boolean("use_qk_norm", false)) config.spec.qk_norm = QkNorm::kEachHeadItsOwn;
}

void read_cohere2(const KeyReader& keys, ModelConfig& config) {
  read_cohere_blocks(keys, config, 10000.0);
  const std::int64_t pattern = keys.integer("sliding_window_pattern").value_or(4);
  if (pattern < 1) keys.fail("sliding_window_pattern", "at least 1", pattern);
  set_alternating_windows(keys, config, pattern);
  for (LayerSpec& layer : config.spec.layers) {
    if (!layer.window) layer.rope = std::nullopt;
  }
}

}  // namespace

const Family kCohere = {.model_type = "cohere",
                        .architecture = "CohereForCausalLM",
                        .max_position_embeddings = 8192,
                        .tie_word_embeddings = true,
                        .read = read_cohere};

const Family kCohere2 = {.model_type = "cohere2",
                         .architecture = "Cohere2ForCausalLM",
                         .max_position_embeddings = 8192,
                         .tie_word_embeddings = true,
                         .read = read_cohere2};

}  // namespace lime
