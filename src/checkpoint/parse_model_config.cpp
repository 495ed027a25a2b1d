// SPDX-License-Identifier: Apache-2.0
// Reading of model_config.h: what transformers writes into config.json, and its defaults.
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/key_reader.h"
#include "checkpoint/model_config.h"
#include "core/errors.h"
#include "core/files/folder.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Contains the defaults of transformers for absent keys of config.json, from its
/// configuration_*.py.
struct DecoderDefaults {
  std::int64_t num_key_value_heads;  ///< 0: as many as num_attention_heads
  std::int64_t max_position_embeddings;
};

DecoderDefaults defaults_of(DecoderKind decoder) {
  switch (decoder) {
    case DecoderKind::kMistral:
      return {.num_key_value_heads = 8, .max_position_embeddings = 131072};
    case DecoderKind::kQwen2:
      return {.num_key_value_heads = 32, .max_position_embeddings = 32768};
    case DecoderKind::kLlama:
    case DecoderKind::kLime:
    case DecoderKind::kDenseFormer:
    case DecoderKind::kHyperConnections:
    case DecoderKind::kResFormer:
      break;
  }
  return {.num_key_value_heads = 0, .max_position_embeddings = 2048};
}

template <NamedEnum Enum>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& [value, name] : EnumNames<Enum>::kNames) names.emplace_back(name);
  return names;
}

template <NamedEnum Enum>
std::optional<Enum> find_enum(std::string_view name) {
  for (const auto& [value, spelled] : EnumNames<Enum>::kNames) {
    if (spelled == name) return value;
  }
  return std::nullopt;
}

/// "; did you mean 'X'?" for a slip of the finger; empty for another generation of a family, such
/// as qwen3.
std::string nearest_decoder(const std::string& name) {
  const std::string nearest = closest_word(name, names_of<DecoderKind>());
  const auto digits_of = [](std::string text) {
    std::erase_if(text, [](char letter) { return letter < '0' || letter > '9'; });
    return text;
  };
  if (nearest.empty() || digits_of(nearest) != digits_of(name)) return "";
  return fmt::format("; did you mean '{}'?", nearest);
}

DecoderKind read_decoder(const KeyReader& keys) {
  const auto name = keys.text("model_type");
  if (!name) {
    throw FormatError("{}: 'model_type' is missing, expected one of {}", keys.where(),
                      join_words(names_of<DecoderKind>()));
  }
  const auto decoder = find_enum<DecoderKind>(*name);
  if (!decoder) {
    throw FormatError("{}: unknown decoder '{}' in model_type (supported: {}){}", keys.where(),
                      printable(*name), join_words(names_of<DecoderKind>()),
                      nearest_decoder(*name));
  }
  return *decoder;
}

/// Null is none here, unlike elsewhere: transformers has no default in its place, and fails.
void read_rope_theta(const KeyReader& keys, double& rope_theta) {
  constexpr const char* kKey = "rope_theta";
  if (keys.contains(kKey) && keys.find(kKey) == nullptr) {
    keys.fail(kKey, "a positive number, or be absent for 10000", nullptr);
  }
  rope_theta = keys.number(kKey).value_or(rope_theta);
}

/// transformers 4 writes `rope_theta` and `rope_scaling`; transformers 5 writes `rope_parameters`
/// with `rope_theta` inside. A `rope_scaling` that is not empty wins there, and here.
void read_rope(const KeyReader& keys, ModelConfig& config) {
  const char* key = "rope_scaling";
  const Json* object = keys.find(key);
  if (object == nullptr || object->empty()) {
    key = "rope_parameters";
    object = keys.find(key);
  }
  if (object == nullptr || object->empty()) return read_rope_theta(keys, config.rope_theta);

  const KeyReader rope(*object, fmt::format("{}: '{}'", keys.where(), key));
  if (rope.find("full_attention") != nullptr || rope.find("sliding_attention") != nullptr) {
    throw FormatError("{}: must be the same for all layers, got different values per layer type",
                      rope.where());
  }
  read_rope_theta(rope.contains("rope_theta") ? rope : keys, config.rope_theta);
  if (rope.number("partial_rotary_factor").value_or(1.0) != 1.0) {
    rope.fail("partial_rotary_factor", "1", *rope.find("partial_rotary_factor"));
  }
  const auto old_name = rope.text("type");
  const auto name = rope.text("rope_type").value_or(old_name.value_or("default"));
  if (name == "default") return;
  RopeScaling& scaling = config.rope_scaling;
  if (name != "linear" && name != "llama3") {
    throw FormatError("{}: unknown RoPE type '{}' (supported: default, linear, llama3)",
                      rope.where(), printable(name));
  }
  scaling.kind = *find_enum<RopeScalingKind>(name);
  scaling.factor = rope.required_number("factor");
  if (scaling.kind != RopeScalingKind::kLlama3) return;
  scaling.low_freq_factor = rope.required_number("low_freq_factor");
  scaling.high_freq_factor = rope.required_number("high_freq_factor");
  const char* const original = "original_max_position_embeddings";
  const auto outer = keys.integer(original);
  const auto inner = rope.integer(original);
  scaling.original_max_position_embeddings =
      outer ? *outer : inner.value_or(config.max_position_embeddings);
}

/// Which layers slide, by `layer_types`.
std::vector<bool> read_layer_types(const KeyReader& keys, const Json& types, bool has_window) {
  if (!types.is_array() || types.empty()) {
    keys.fail("layer_types", "a list with one entry per layer", types);
  }
  std::vector<bool> slides;
  for (const Json& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      keys.fail("layer_types", "a list of full_attention and sliding_attention", type);
    }
    slides.push_back(type == "sliding_attention");
    if (has_window || !slides.back()) continue;
    keys.fail("layer_types", "full_attention in every layer if no sliding_window is used", type);
  }
  return slides;
}

/// Mistral slides in every layer, or as `layer_types` says: transformers 5 then loads it as
/// Ministral. Qwen2 slides with `use_sliding_window` only.
void read_sliding_window(const KeyReader& keys, ModelConfig& config) {
  const bool is_qwen2 = config.decoder == DecoderKind::kQwen2;
  if (!is_qwen2 && config.decoder != DecoderKind::kMistral) return;
  if (!is_qwen2 || keys.boolean("use_sliding_window", false)) {
    config.sliding_window = keys.integer("sliding_window");
    // The default of MistralConfig and Qwen2Config.
    if (!keys.contains("sliding_window")) config.sliding_window = 4096;
  }
  const bool has_window = config.sliding_window.has_value();
  if (const Json* const types = keys.find("layer_types")) {
    config.sliding_layers = read_layer_types(keys, *types, has_window);
    return;
  }
  if (!is_qwen2 || !has_window) return;
  const std::int64_t first = keys.integer("max_window_layers").value_or(28);
  config.sliding_layers.resize(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    config.sliding_layers[static_cast<std::size_t>(layer)] = layer >= first;
  }
}

void read_biases(const KeyReader& keys, ModelConfig& config) {
  switch (config.decoder) {
    case DecoderKind::kLlama:
    case DecoderKind::kLime:
    case DecoderKind::kDenseFormer:
    case DecoderKind::kHyperConnections:
    case DecoderKind::kResFormer:
      config.qkv_bias = keys.boolean("attention_bias", false);
      config.o_bias = config.qkv_bias;
      config.mlp_bias = keys.boolean("mlp_bias", false);
      break;
    case DecoderKind::kQwen2:
      config.qkv_bias = true;
      break;
    case DecoderKind::kMistral:
      break;
  }
}

LimeConfig read_lime(const KeyReader& keys) {
  LimeConfig lime;
  if (const auto name = keys.text("router")) {
    const auto router = find_enum<RouterKind>(*name);
    if (!router) {
      throw FormatError("{}: unknown router '{}' (supported: {})", keys.where(), printable(*name),
                        join_words(names_of<RouterKind>()));
    }
    lime.router = *router;
  }
  lime.j = keys.integer("j").value_or(lime.j);
  lime.head_mixing = keys.boolean("head_mixing", lime.head_mixing);
  lime.per_dimension = keys.boolean("per_dimension", lime.per_dimension);
  lime.dynamic = keys.boolean("dynamic", lime.dynamic);
  lime.initializer_scale = keys.number("initializer_scale").value_or(lime.initializer_scale);
  return lime;
}

/// Reads the object that is called as the decoder; where it is absent, the defaults hold.
void read_own_object(const KeyReader& keys, ModelConfig& config) {
  const std::string name(enum_name(config.decoder));
  const Json* const object = keys.find(name.c_str());
  if (object == nullptr) return;
  const KeyReader inner(*object, fmt::format("{}: '{}'", keys.where(), name));
  switch (config.decoder) {
    case DecoderKind::kLime:
      config.lime = read_lime(inner);
      break;
    case DecoderKind::kDenseFormer:
      config.denseformer.dilation = inner.integer("dilation").value_or(1);
      config.denseformer.period = inner.integer("period").value_or(1);
      break;
    case DecoderKind::kHyperConnections:
      config.hyper_connections.dynamic = inner.boolean("dynamic", true);
      config.hyper_connections.rate = inner.integer("rate").value_or(config.hyper_connections.rate);
      break;
    case DecoderKind::kResFormer:
      config.first_layer_values_only = inner.boolean("first_layer_only", false);
      break;
    case DecoderKind::kLlama:
    case DecoderKind::kMistral:
    case DecoderKind::kQwen2:
      break;
  }
}

void refuse_what_we_lack(const KeyReader& keys) {
  if (keys.find("quantization_config") != nullptr) {
    throw FormatError(
        "{}: 'quantization_config' must be absent, got quantised weights; use the unquantised "
        "checkpoint",
        keys.where());
  }
  if (keys.number("partial_rotary_factor").value_or(1.0) != 1.0) {
    keys.fail("partial_rotary_factor", "1", *keys.find("partial_rotary_factor"));
  }
  if (!keys.boolean("is_causal", true)) {
    keys.fail("is_causal", "true, because bidirectional attention is not supported", false);
  }
  if (keys.find("text_config") != nullptr) {
    throw FormatError(
        "{}: 'text_config' must be absent, got the config of a multimodal model; save its language "
        "model alone, with the keys of text_config at the top level",
        keys.where());
  }
}

/// Asked before the sizes are validated, so it must hold for any numbers.
std::int64_t derived_head_dim(const KeyReader& keys, const ModelConfig& config) {
  if (config.num_attention_heads < 1) return 0;
  if (config.hidden_size % config.num_attention_heads == 0) {
    return config.hidden_size / config.num_attention_heads;
  }
  throw FormatError(
      "{}: 'hidden_size' must be a multiple of num_attention_heads = {} if head_dim is absent, got "
      "{}",
      keys.where(), config.num_attention_heads, config.hidden_size);
}

}  // namespace

ModelConfig parse_model_config(const Json& json, std::string_view where) {
  const KeyReader keys(json, std::string(where));
  ModelConfig config;
  config.raw = json;
  config.decoder = read_decoder(keys);
  refuse_what_we_lack(keys);
  const DecoderDefaults defaults = defaults_of(config.decoder);

  config.vocab_size = keys.required_integer("vocab_size");
  config.hidden_size = keys.required_integer("hidden_size");
  config.intermediate_size = keys.required_integer("intermediate_size");
  config.num_hidden_layers = keys.required_integer("num_hidden_layers");
  config.num_attention_heads = keys.required_integer("num_attention_heads");
  const bool silent = !keys.contains("num_key_value_heads") && defaults.num_key_value_heads > 0;
  config.num_key_value_heads =
      keys.integer("num_key_value_heads")
          .value_or(silent ? defaults.num_key_value_heads : config.num_attention_heads);
  const auto head_dim = keys.integer("head_dim");
  config.head_dim = head_dim ? *head_dim : derived_head_dim(keys, config);
  config.max_position_embeddings =
      keys.integer("max_position_embeddings").value_or(defaults.max_position_embeddings);
  const std::string activation = keys.text("hidden_act").value_or("silu");
  config.hidden_act = activation == "swish" ? "silu" : activation;
  config.rms_norm_eps = keys.number("rms_norm_eps").value_or(config.rms_norm_eps);
  config.tie_word_embeddings = keys.boolean("tie_word_embeddings", false);
  read_rope(keys, config);
  read_biases(keys, config);
  config.bos_token_id = keys.integer("bos_token_id");
  config.eos_token_ids = keys.integers("eos_token_id");
  config.initializer_range = keys.number("initializer_range").value_or(config.initializer_range);
  config.torch_dtype = keys.text("dtype").value_or(keys.text("torch_dtype").value_or(""));
  read_own_object(keys, config);
  config.validate(where);  // before anything is sized by num_hidden_layers
  read_sliding_window(keys, config);
  config.validate(where);
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_file = path_exists(path) && !std::filesystem::is_directory(path, ignored) &&
                       path.extension() != ".gguf";
  const std::filesystem::path file = is_file ? path : find_checkpoint(path).config;
  return parse_model_config(read_json_file(file), "'" + file.string() + "'");
}

}  // namespace lime
