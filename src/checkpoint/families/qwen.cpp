// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/qwen.h"

#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

/// With `use_sliding_window`, layers of `layer_types` or from `max_window_layers` on slide.
void read_qwen_windows(const KeyReader& keys, ModelConfig& config) {
  auto window = read_window(keys);
  if (!keys.boolean("use_sliding_window", false)) window = std::nullopt;
  const std::int64_t first = keys.integer("max_window_layers").value_or(28);
  auto slides = read_layer_types(keys, config.num_hidden_layers, window.has_value());
  if (!window) return;
  if (!slides) {
    slides.emplace();
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      slides->push_back(layer >= first);
    }
  }
  set_windows(config, *slides, *window);
}

void read_qwen2(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  config.spec.qkv_bias = true;
  read_qwen_windows(keys, config);
}

void write_qwen2(const ModelConfig& config, Json& json) {
  write_llama_basics(config, json);
  json["use_sliding_window"] = false;
  for (const LayerSpec& layer : config.spec.layers) {
    if (!layer.window) continue;
    json["use_sliding_window"] = true;
    json["sliding_window"] = *layer.window;
  }
  if (json["use_sliding_window"] == true) write_layer_types(config, json);
}

void read_qwen3(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  config.spec.qk_norm = QkNorm::kPerHead;
  read_attention_bias(keys, config);
  read_qwen_windows(keys, config);
}

}  // namespace

const Family kQwen2 = {.model_type = "qwen2",
                       .architecture = "Qwen2ForCausalLM",
                       .num_key_value_heads = 32,
                       .max_position_embeddings = 32768,
                       .assumed_tokenizer = "Qwen2Tokenizer",
                       .read = read_qwen2,
                       .write = write_qwen2};

const Family kQwen3 = {.model_type = "qwen3",
                       .architecture = "Qwen3ForCausalLM",
                       .num_key_value_heads = 32,
                       .head_dim = 128,
                       .max_position_embeddings = 32768,
                       .read = read_qwen3};

}  // namespace lime
