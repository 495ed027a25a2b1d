// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/gpt_oss.h"

#include <cmath>

#include "checkpoint/families/experts.h"
#include "checkpoint/families/rope_reading.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

constexpr double kGptOssTheta = 150000.0;

/// Returns the rotary embedding of a config without one.
RopeSpec usual_rope(const KeyReader& keys) {
  return {.kind = RopeKind::kYarn,
          .theta = keys.positive("rope_theta", kGptOssTheta),
          .factor = 32.0,
          .attention_factor = 0.1 * std::log(32.0) + 1.0,
          .truncate = false,
          .original_max_position_embeddings = 4096};
}

void read_gpt_oss(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5), .rounds_after_weight = true};
  refuse_partial_rotation(keys);
  const bool has_rope =
      keys.find("rope_parameters") != nullptr || keys.find("rope_scaling") != nullptr;
  spec.ropes = {has_rope ? read_rope(keys, config, {.theta = kGptOssTheta}) : usual_rope(keys)};
  read_attention_bias(keys, config, true);
  spec.attention_sinks = true;
  const auto window =
      keys.contains("sliding_window") ? keys.integer("sliding_window") : std::int64_t{128};
  auto slides = read_layer_types(keys, config.num_hidden_layers, window.has_value());
  if (!slides) {
    if (!window) keys.fail("sliding_window", "a number, or be absent for 128", nullptr);
    slides.emplace();
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      slides->push_back(layer % 2 == 0);
    }
  }
  set_windows(config, *slides, window.value_or(0));
  ExpertsSpec experts = read_experts(keys, config, {.num_experts = 128, .num_experts_per_tok = 4});
  experts.bias = true;
  experts.clamped_gate = ClampedGate{.alpha = keys.number("swiglu_alpha").value_or(1.702),
                                     .limit = keys.number("swiglu_limit").value_or(7.0)};
  experts.layout = ExpertLayout::kInterleaved;
  spec.experts = experts;
  spec.names.router = "mlp.router";
  // Of the released models; transformers does not read them.
  for (const char* const key : {"experts_per_token", "initial_context_length"}) keys.find(key);
}

}  // namespace

const Family kGptOss = {.model_type = "gpt_oss",
                        .architecture = "GptOssForCausalLM",
                        .aliases = kLocalExperts,
                        .num_key_value_heads = 8,
                        .head_dim = 64,
                        .max_position_embeddings = 131072,
                        .num_experts_key = "num_local_experts",
                        .reads_mxfp4 = true,
                        .read = read_gpt_oss};

}  // namespace lime
