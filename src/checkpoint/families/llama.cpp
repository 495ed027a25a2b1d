// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/family.h"
#include "core/errors.h"

namespace lime {

void read_llama_basics(const KeyReader& keys, ModelConfig& config) {
  config.spec.norm.eps = keys.number("rms_norm_eps").value_or(config.spec.norm.eps);
  refuse_partial_rotation(keys);
  config.spec.ropes = {read_rope(keys, config)};
}

void write_llama_basics(const ModelConfig& config, Json& json) {
  json["rms_norm_eps"] = config.spec.norm.eps;
  write_rope(config.spec.ropes.front(), json);
}

void read_llama(const KeyReader& keys, ModelConfig& config) {
  read_llama_basics(keys, config);
  read_attention_bias(keys, config);
  config.spec.mlp_bias = keys.boolean("mlp_bias", false);
}

namespace {

void write_llama(const ModelConfig& config, Json& json) {
  write_llama_basics(config, json);
  json["attention_bias"] = config.spec.qkv_bias;
  json["mlp_bias"] = config.spec.mlp_bias;
}

}  // namespace

const Family kLlama = {.model_type = "llama",
                       .architecture = "LlamaForCausalLM",
                       .read = read_llama,
                       .write = write_llama};

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

namespace {

void read_granite(const KeyReader& keys, ModelConfig& config) {
  read_llama(keys, config);
  DecoderSpec& spec = config.spec;
  spec.embedding_multiplier = keys.number("embedding_multiplier").value_or(1.0);
  spec.residual_multiplier = keys.number("residual_multiplier").value_or(1.0);
  spec.logits_divisor = keys.number("logits_scaling").value_or(1.0);
  spec.layers.front().attention_scale = keys.number("attention_multiplier").value_or(1.0);
}

}  // namespace

const Family kGranite = {
    .model_type = "granite", .architecture = "GraniteForCausalLM", .read = read_granite};

namespace {

void read_phi3(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = keys.number("rms_norm_eps").value_or(1e-5);
  if (keys.boolean("attention_bias", false)) {
    keys.fail("attention_bias", "false, because the blocks of phi3 have no biases", true);
  }
  spec.qkv_layout = QkvLayout::kConcatenated;
  spec.fused_gate_up = true;
  spec.layers.front().window = keys.integer("sliding_window");
  const auto original = keys.integer("original_max_position_embeddings");
  spec.ropes = {read_rope(
      keys, config,
      {.may_be_partial = true, .original_max_position_embeddings = original.value_or(4096)})};
  const RopeKind kind = spec.ropes.front().kind;
  if (kind != RopeKind::kDefault && kind != RopeKind::kLongRope) {
    keys.fail("rope_type", "default or longrope", enum_name(kind));
  }
  set_rotary_dim(keys, "partial_rotary_factor", 1.0, config);
}

}  // namespace

const Family kPhi3 = {.model_type = "phi3",
                      .architecture = "Phi3ForCausalLM",
                      .max_position_embeddings = 4096,
                      .read = read_phi3};

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
  spec.norm.eps = keys.number("rms_norm_eps").value_or(spec.norm.eps);
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

namespace {

/// Sets what both have in common: norms and biases.
void read_olmo2_blocks(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm = {.eps = keys.number("rms_norm_eps").value_or(1e-5), .rounds_after_weight = true};
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

const Family kOlmo2 = {
    .model_type = "olmo2", .architecture = "Olmo2ForCausalLM", .read = read_olmo2};

const Family kOlmo3 = {
    .model_type = "olmo3", .architecture = "Olmo3ForCausalLM", .read = read_olmo3};

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
