// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/olmo.h"

#include "checkpoint/families/rope_reading.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

void read_olmo(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.kind = NormKind::kLayerNorm, .has_weight = false, .eps = 1e-5};
  spec.ropes = {read_whole_rope(keys, config)};
  spec.qkv_clip = keys.number("clip_qkv");
  read_attention_bias(keys, config);
}

/// Sets what OLMo 2 and OLMo 3 have in common: norms and biases.
void read_olmo2_blocks(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5), .rounds_after_weight = true};
  spec.norm_placement = NormPlacement::kAfter;
  spec.qk_norm = QkNorm::kWholeProjection;
  read_attention_bias(keys, config);
}

void read_olmo2(const KeyReader& keys, ModelConfig& config) {
  read_olmo2_blocks(keys, config);
  config.spec.ropes = {read_rope(keys, config)};
}

constexpr double kOlmo3Theta = 500000.0;

/// Refuses a `rope_theta` that transformers 5 applies only to layers without a window.
void refuse_ambiguous_theta(const KeyReader& keys) {
  if (keys.find("rope_parameters") != nullptr || !keys.contains("rope_theta")) return;
  if (keys.number("rope_theta") == kOlmo3Theta) return;
  keys.fail("rope_theta", "500000, or be given per layer type in rope_parameters",
            *keys.find("rope_theta"));
}

void read_olmo3(const KeyReader& keys, ModelConfig& config) {
  read_olmo2_blocks(keys, config);
  refuse_ambiguous_theta(keys);
  set_alternating_windows(keys, config, 4);
  set_ropes_by_window(
      config, read_ropes_by_layer_type(keys, config,
                                       {.full_theta = kOlmo3Theta, .sliding_theta = kOlmo3Theta}));
}

}  // namespace

const Family kOlmo = {.model_type = "olmo", .architecture = "OlmoForCausalLM", .read = read_olmo};

const Family kOlmo2 = {
    .model_type = "olmo2", .architecture = "Olmo2ForCausalLM", .read = read_olmo2};

const Family kOlmo3 = {
    .model_type = "olmo3", .architecture = "Olmo3ForCausalLM", .read = read_olmo3};

}  // namespace lime
