// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/cwm.h"

#include "checkpoint/families/rope_reading.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

constexpr std::int64_t kPeriod = 4;
constexpr double kTheta = 1000000.0;
constexpr std::int64_t kUsualWindow = 8192;

/// Returns the rotary embedding of the released model, which a file without one has.
RopeSpec read_cwm_rope(const KeyReader& keys, ModelConfig& config) {
  RopeSpec rope = read_whole_rope(keys, config, kTheta);
  if (keys.find("rope_parameters") != nullptr || keys.find("rope_scaling") != nullptr) return rope;
  rope.kind = RopeKind::kLlama3;
  rope.theta = kTheta;
  rope.factor = 16.0;
  rope.original_max_position_embeddings = 8192;
  return rope;
}

void read_cwm(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  spec.mlp_bias = keys.boolean("mlp_bias", false);
  spec.ropes = {read_cwm_rope(keys, config)};
  auto slides = read_layer_types(keys, config.num_hidden_layers, true);
  if (!slides) {
    slides.emplace();
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      slides->push_back(layer % kPeriod != 0);
    }
  }
  set_windows(config, *slides, keys.integer("sliding_window").value_or(kUsualWindow));
}

}  // namespace

const Family kCwm = {.model_type = "cwm",
                     .architecture = "CwmForCausalLM",
                     .num_key_value_heads = 8,
                     .head_dim = 128,
                     .max_position_embeddings = 131072,
                     .read = read_cwm};

}  // namespace lime
