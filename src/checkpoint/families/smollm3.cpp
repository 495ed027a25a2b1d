// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/smollm3.h"

#include "checkpoint/families/rope_reading.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

/// Returns which layers rotate: `no_rope_layers`, or all but every `no_rope_layer_interval`-th.
std::vector<bool> rotating_layers(const KeyReader& keys, std::int64_t num_layers) {
  const std::int64_t interval = keys.integer("no_rope_layer_interval").value_or(4);
  std::vector<bool> rotates;
  if (keys.find("no_rope_layers") != nullptr) {
    for (const std::int64_t flag : keys.integers("no_rope_layers")) rotates.push_back(flag != 0);
    throw_if<FormatError>(std::ssize(rotates) < num_layers,
                          "{}: 'no_rope_layers' must have one entry for each of {} layers, got {}",
                          keys.where(), num_layers, rotates.size());
    rotates.resize(static_cast<std::size_t>(num_layers));
    return rotates;
  }
  if (interval < 1) keys.fail("no_rope_layer_interval", "at least 1", interval);
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    rotates.push_back((layer + 1) % interval != 0);
  }
  return rotates;
}

/// Layers without rotation slide with `use_sliding_window`, unless `layer_types` says which.
std::vector<bool> sliding_layers(const KeyReader& keys, const std::vector<bool>& rotates,
                                 bool has_window) {
  const bool uses_window = keys.boolean("use_sliding_window", false) && has_window;
  if (auto slides = read_layer_types(keys, std::ssize(rotates), has_window)) return *slides;
  std::vector<bool> slides;
  for (const bool rotation : rotates) slides.push_back(uses_window && !rotation);
  return slides;
}

void read_smollm3(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", spec.norm.eps);
  spec.ropes = {read_rope(keys, config, {.theta = 2000000.0})};
  read_attention_bias(keys, config);
  spec.mlp_bias = keys.boolean("mlp_bias", false);
  const std::vector<bool> rotates = rotating_layers(keys, config.num_hidden_layers);
  keys.find("max_window_layers");  // in its files, but transformers does not use it
  const auto window = keys.integer("sliding_window");
  set_windows(config, sliding_layers(keys, rotates, window.has_value()), window.value_or(0));
  for (std::size_t layer = 0; layer < rotates.size(); ++layer) {
    if (!rotates[layer]) spec.layers[layer].rope = std::nullopt;
  }
}

}  // namespace

const Family kSmolLm3 = {.model_type = "smollm3",
                         .architecture = "SmolLM3ForCausalLM",
                         .num_key_value_heads = 4,
                         .max_position_embeddings = 32768,
                         .tie_word_embeddings = true,
                         .read = read_smollm3};

}  // namespace lime
