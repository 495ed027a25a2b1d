// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/window_reading.h"

#include <cstddef>

#include "checkpoint/decoder_spec.h"
#include "core/errors.h"

namespace lime {

std::optional<std::vector<bool>> read_layer_types(const KeyReader& keys, std::int64_t num_layers,
                                                  bool has_window) {
  const Json* const types = keys.find("layer_types");
  if (types == nullptr) return std::nullopt;
  if (!types->is_array() || types->empty()) {
    keys.fail("layer_types", "a list with one entry per layer", *types);
  }
  std::vector<bool> slides;
  for (const Json& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      keys.fail("layer_types", "a list of full_attention and sliding_attention", type);
    }
    slides.push_back(type == "sliding_attention");
    if (has_window || !slides.back()) continue;
    keys.fail("layer_types", "full_attention in every layer if no sliding_window is used", type);
  }
  if (std::ssize(slides) == num_layers) return slides;
  throw FormatError("{}: 'layer_types' must have one entry for each of {} layers, got {}",
                    keys.where(), num_layers, slides.size());
}

std::optional<std::int64_t> read_window(const KeyReader& keys) {
  return keys.contains("sliding_window") ? keys.integer("sliding_window") : 4096;
}

std::vector<bool> all_but_every(std::int64_t period, std::int64_t num_layers) {
  std::vector<bool> slides;
  for (std::int64_t layer = 1; layer <= num_layers; ++layer) {
    slides.push_back(layer % period != 0);
  }
  return slides;
}

void set_windows(ModelConfig& config, const std::vector<bool>& slides, std::int64_t window) {
  std::vector<LayerSpec>& layers = config.spec.layers;
  if (layers.size() != slides.size()) layers.resize(slides.size(), layers.front());
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    if (slides[layer]) layers[layer].window = window;
  }
}

void set_alternating_windows(const KeyReader& keys, ModelConfig& config, std::int64_t period) {
  const auto window = read_window(keys);
  auto slides = read_layer_types(keys, config.num_hidden_layers, window.has_value());
  if (!slides) {
    if (!window) keys.fail("sliding_window", "a number, or be absent for 4096", nullptr);
    slides = all_but_every(period, config.num_hidden_layers);
  }
  set_windows(config, *slides, window.value_or(0));
}

void write_layer_types(const ModelConfig& config, Json& json) {
  json["layer_types"] = Json::array();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    json["layer_types"].push_back(config.spec.layer(layer).window ? "sliding_attention"
                                                                  : "full_attention");
  }
}

}  // namespace lime
