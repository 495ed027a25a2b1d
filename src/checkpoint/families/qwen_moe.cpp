// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/qwen_moe.h"

#include <algorithm>

#include "checkpoint/families/experts.h"
#include "checkpoint/families/window_reading.h"

namespace lime {
namespace {

/// Marks the layers that have an MLP: those of `mlp_only_layers`, and all but every
/// `decoder_sparse_step`-th.
void read_sparse_layers(const KeyReader& keys, ModelConfig& config) {
  const std::int64_t step = keys.integer("decoder_sparse_step").value_or(1);
  if (step < 1) keys.fail("decoder_sparse_step", "at least 1", step);
  const std::vector<std::int64_t> dense = keys.integers("mlp_only_layers");
  if (step == 1 && dense.empty()) return;
  std::vector<LayerSpec>& layers = config.spec.layers;
  const auto count = static_cast<std::size_t>(config.num_hidden_layers);
  if (layers.size() != count) layers.resize(count, LayerSpec(layers.front()));
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    layers[static_cast<std::size_t>(layer)].is_dense =
        (layer + 1) % step != 0 || std::ranges::find(dense, layer) != dense.end();
  }
}

/// Reads the mixtures of experts of Qwen 2 and 3; `num_experts` may be 0.
void read_qwen_experts(const KeyReader& keys, ModelConfig& config, const ExpertDefaults& defaults,
                       std::int64_t width) {
  ExpertsSpec experts = read_experts(keys, config, defaults);
  experts.normalizes_weights = keys.boolean("norm_topk_prob", false);
  experts.intermediate_size = keys.integer("moe_intermediate_size").value_or(width);
  if (experts.num_experts == 0) return;
  config.spec.experts = experts;
  read_sparse_layers(keys, config);
}

/// With `use_sliding_window`, layers of `layer_types` slide, or every other one before
/// `max_window_layers`.
void read_qwen2_moe_windows(const KeyReader& keys, ModelConfig& config) {
  auto window = read_window(keys);
  if (!keys.boolean("use_sliding_window", false)) window = std::nullopt;
  const std::int64_t end = keys.integer("max_window_layers").value_or(28);
  auto slides = read_layer_types(keys, config.num_hidden_layers, window.has_value());
  if (!window) return;
  if (!slides) {
    slides.emplace();
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      slides->push_back(layer % 2 == 0 && layer < end);
    }
  }
  set_windows(config, *slides, *window);
}

void read_qwen2_moe(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  config.spec.qkv_bias = keys.boolean("qkv_bias", true);
  read_qwen2_moe_windows(keys, config);
  read_qwen_experts(keys, config, {.num_experts = 60, .num_experts_per_tok = 4}, 1408);
  const std::int64_t shared = keys.integer("shared_expert_intermediate_size").value_or(5632);
  if (config.spec.experts) config.spec.experts->shared_intermediate_size = shared;
}

void read_qwen3_moe(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  config.spec.qk_norm = QkNorm::kPerHead;
  read_attention_bias(keys, config);
  const auto window = read_window(keys);
  keys.find("max_window_layers");  // of Qwen 2
  if (keys.boolean("use_sliding_window", false)) config.spec.layers.front().window = window;
  read_qwen_experts(keys, config, {.num_experts = 128, .num_experts_per_tok = 8}, 768);
}

}  // namespace

const Family kQwen2Moe = {.model_type = "qwen2_moe",
                          .architecture = "Qwen2MoeForCausalLM",
                          .aliases = kNumExperts,
                          .num_key_value_heads = 16,
                          .max_position_embeddings = 32768,
                          .num_experts_key = "num_experts",
                          .has_expert_width = true,
                          .read = read_qwen2_moe};

const Family kQwen3Moe = {.model_type = "qwen3_moe",
                          .architecture = "Qwen3MoeForCausalLM",
                          .aliases = kNumExperts,
                          .num_key_value_heads = 4,
                          .max_position_embeddings = 32768,
                          .num_experts_key = "num_experts",
                          .has_expert_width = true,
                          .read = read_qwen3_moe};

}  // namespace lime
