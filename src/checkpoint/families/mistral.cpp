// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/mistral.h"

#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

/// Every layer slides, or those of `layer_types`: transformers 5 then loads it as Ministral.
void read_mistral(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  const auto window = read_window(keys);
  const auto slides = read_layer_types(keys, config.num_hidden_layers, window.has_value());
  if (slides && window) return set_windows(config, *slides, *window);
  config.spec.layers.front().window = window;
}

/// To transformers, a mistral with layer_types is another class.
void write_mistral(const ModelConfig& config, Json& json) {
  write_llama_basics(config, json);
  json["sliding_window"] = nullptr;
  for (const LayerSpec& layer : config.spec.layers) {
    if (layer.window) json["sliding_window"] = *layer.window;
  }
  if (config.spec.layers.size() > 1) write_layer_types(config, json);
}

constexpr Family mistral_family(std::string_view model_type, std::string_view architecture) {
  return {.model_type = model_type,
          .architecture = architecture,
          .num_key_value_heads = 8,
          .max_position_embeddings = 131072,
          .read = read_mistral,
          .write = write_mistral};
}

}  // namespace

const Family kMistral = mistral_family("mistral", "MistralForCausalLM");

const Family kMinistral = mistral_family("ministral", "MinistralForCausalLM");

}  // namespace lime
