// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/model_config.h"

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxLayers = 10000;
constexpr std::int64_t kMaxHeads = 65536;

void require_size(std::string_view where, const char* key, std::int64_t value,
                  std::int64_t maximum = kMaxSize) {
  if (value >= 1 && value <= maximum) return;
  throw FormatError("{}: '{}' must be from 1 to {}, got {}", where, key, maximum, value);
}

void require_positive(std::string_view where, const char* key, double value) {
  if (std::isfinite(value) && value > 0.0) return;
  throw FormatError("{}: '{}' must be a positive number, got {}", where, key, value);
}

void validate_rope(const ModelConfig& config, std::string_view where) {
  require_positive(where, "rope_theta", config.rope_theta);
  const RopeScaling& scaling = config.rope_scaling;
  if (scaling.kind == RopeScalingKind::kNone) return;
  const std::string place = fmt::format("{}: 'rope_scaling'", where);
  require_positive(place, "factor", scaling.factor);
  if (scaling.kind != RopeScalingKind::kLlama3) return;
  require_positive(place, "low_freq_factor", scaling.low_freq_factor);
  require_positive(place, "high_freq_factor", scaling.high_freq_factor);
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    throw FormatError("{}: 'high_freq_factor' must be above low_freq_factor = {}, got {}", place,
                      scaling.low_freq_factor, scaling.high_freq_factor);
  }
  require_size(place, "original_max_position_embeddings", scaling.original_max_position_embeddings);
}

Json rope_scaling_to_json(const RopeScaling& scaling) {
  if (scaling.kind == RopeScalingKind::kNone) return nullptr;
  Json json = {{"rope_type", enum_name(scaling.kind)}, {"factor", scaling.factor}};
  if (scaling.kind == RopeScalingKind::kLlama3) {
    json["low_freq_factor"] = scaling.low_freq_factor;
    json["high_freq_factor"] = scaling.high_freq_factor;
    json["original_max_position_embeddings"] = scaling.original_max_position_embeddings;
  }
  return json;
}

void add_sliding_window(const ModelConfig& config, Json& json) {
  const bool slides = config.sliding_window.has_value();
  const bool is_qwen2 = config.decoder == DecoderKind::kQwen2;
  if (!is_qwen2 && config.decoder != DecoderKind::kMistral) return;
  if (is_qwen2) json["use_sliding_window"] = slides;
  if (slides || !is_qwen2) {
    json["sliding_window"] = slides ? Json(*config.sliding_window) : Json(nullptr);
  }
  // To transformers, a mistral with layer_types is another class.
  if (!slides || (!is_qwen2 && config.sliding_layers.empty())) return;
  json["layer_types"] = Json::array();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    json["layer_types"].push_back(config.window_of_layer(layer) ? "sliding_attention"
                                                                : "full_attention");
  }
}

Json lime_to_json(const LimeConfig& lime) {
  Json json = {{"router", enum_name(lime.router)},
               {"j", lime.j},
               {"head_mixing", lime.head_mixing},
               {"per_dimension", lime.per_dimension},
               {"dynamic", lime.dynamic}};
  if (lime.initializer_scale != LimeConfig().initializer_scale) {
    json["initializer_scale"] = lime.initializer_scale;
  }
  return json;
}

std::string architecture_name(DecoderKind decoder) {
  switch (decoder) {
    case DecoderKind::kLlama:
      return "LlamaForCausalLM";
    case DecoderKind::kMistral:
      return "MistralForCausalLM";
    case DecoderKind::kQwen2:
      return "Qwen2ForCausalLM";
    case DecoderKind::kDenseFormer:
      return "DenseFormerForCausalLM";
    case DecoderKind::kHyperConnections:
      return "HyperConnectionsForCausalLM";
    case DecoderKind::kResFormer:
      return "ResFormerForCausalLM";
    case DecoderKind::kLime:
      break;
  }
  return "LimeForCausalLM";
}

/// Adds the object that only this kind of decoder has.
void add_own_object(const ModelConfig& config, Json& json) {
  switch (config.decoder) {
    case DecoderKind::kLime:
      json["lime"] = lime_to_json(config.lime);
      break;
    case DecoderKind::kDenseFormer:
      json["denseformer"] = {{"dilation", config.denseformer.dilation},
                             {"period", config.denseformer.period}};
      break;
    case DecoderKind::kHyperConnections:
      json["hyper_connections"] = {{"dynamic", config.hyper_connections.dynamic},
                                   {"rate", config.hyper_connections.rate}};
      break;
    case DecoderKind::kResFormer:
      json["resformer"] = {{"first_layer_only", config.first_layer_values_only}};
      break;
    case DecoderKind::kLlama:
    case DecoderKind::kMistral:
    case DecoderKind::kQwen2:
      break;
  }
}

void validate_router(const LimeConfig& lime, std::int64_t num_layers, std::string_view where) {
  const std::string place = fmt::format("{}: 'lime'", where);
  switch (lime.router) {
    case RouterKind::kLast:
    case RouterKind::kFirst:
    case RouterKind::kFirstAndPrevious:
    case RouterKind::kDilated:
      require_size(place, "j", lime.j, num_layers);
      break;
    case RouterKind::kAverage:
      if (lime.per_dimension || lime.dynamic) {
        throw FormatError(
            "{}: the router 'average' has no weights, so 'per_dimension' and 'dynamic' must be "
            "false",
            place);
      }
      break;
    case RouterKind::kFull:
    case RouterKind::kNone:
      break;
  }
  if (lime.per_dimension && lime.dynamic) {
    throw FormatError("{}: 'per_dimension' and 'dynamic' must not both be true", place);
  }
}

/// The object that only this kind of decoder has.
void validate_own_object(const ModelConfig& config, std::string_view where) {
  constexpr std::int64_t kMaxStreams = 1024;
  const std::int64_t num_layers = config.num_hidden_layers;
  if (config.decoder == DecoderKind::kLime) validate_router(config.lime, num_layers, where);
  if (config.decoder == DecoderKind::kDenseFormer) {
    const std::string place = fmt::format("{}: 'denseformer'", where);
    require_size(place, "dilation", config.denseformer.dilation, num_layers);
    require_size(place, "period", config.denseformer.period, num_layers);
  }
  if (config.decoder == DecoderKind::kHyperConnections) {
    require_size(fmt::format("{}: 'hyper_connections'", where), "rate",
                 config.hyper_connections.rate, kMaxStreams);
  }
}

}  // namespace

std::optional<std::int64_t> ModelConfig::window_of_layer(std::int64_t layer) const {
  const auto index = static_cast<std::size_t>(layer);
  return sliding_layers.empty() || sliding_layers.at(index) ? sliding_window : std::nullopt;
}

void ModelConfig::validate(std::string_view where) const {
  require_size(where, "vocab_size", vocab_size);
  require_size(where, "hidden_size", hidden_size);
  require_size(where, "intermediate_size", intermediate_size);
  require_size(where, "num_hidden_layers", num_hidden_layers, kMaxLayers);
  require_size(where, "num_attention_heads", num_attention_heads, kMaxHeads);
  require_size(where, "num_key_value_heads", num_key_value_heads, num_attention_heads);
  require_size(where, "head_dim", head_dim);
  require_size(where, "max_position_embeddings", max_position_embeddings);
  if (num_attention_heads % num_key_value_heads != 0) {
    throw FormatError(
        "{}: 'num_attention_heads' must be a multiple of num_key_value_heads = {}, "
        "got {}",
        where, num_key_value_heads, num_attention_heads);
  }
  if (head_dim % 2 != 0) {
    throw FormatError("{}: 'head_dim' must be even for rotary embeddings, got {}", where, head_dim);
  }
  if (hidden_act != "silu") {
    throw FormatError("{}: 'hidden_act' must be silu, got '{}'", where, printable(hidden_act));
  }
  if (!std::isfinite(rms_norm_eps) || rms_norm_eps < 0.0) {
    throw FormatError("{}: 'rms_norm_eps' must be at least 0, got {}", where, rms_norm_eps);
  }
  validate_rope(*this, where);
  if (sliding_window) require_size(where, "sliding_window", *sliding_window);
  if (!sliding_layers.empty() &&
      sliding_layers.size() != static_cast<std::size_t>(num_hidden_layers)) {
    throw FormatError("{}: 'layer_types' must have one entry for each of {} layers, got {}", where,
                      num_hidden_layers, sliding_layers.size());
  }
  validate_own_object(*this, where);
}

Json model_config_to_json(const ModelConfig& config) {
  config.validate("model config");
  const bool has_optional_biases =
      config.decoder != DecoderKind::kMistral && config.decoder != DecoderKind::kQwen2;
  Json json = {{"architectures", Json::array({architecture_name(config.decoder)})},
               {"model_type", enum_name(config.decoder)},
               {"vocab_size", config.vocab_size},
               {"hidden_size", config.hidden_size},
               {"intermediate_size", config.intermediate_size},
               {"num_hidden_layers", config.num_hidden_layers},
               {"num_attention_heads", config.num_attention_heads},
               {"num_key_value_heads", config.num_key_value_heads},
               {"head_dim", config.head_dim},
               {"hidden_act", config.hidden_act},
               {"max_position_embeddings", config.max_position_embeddings},
               {"rms_norm_eps", config.rms_norm_eps},
               {"rope_theta", config.rope_theta},
               {"rope_scaling", rope_scaling_to_json(config.rope_scaling)},
               {"tie_word_embeddings", config.tie_word_embeddings}};
  if (has_optional_biases) {
    json["attention_bias"] = config.qkv_bias;
    json["mlp_bias"] = config.mlp_bias;
  }
  add_sliding_window(config, json);
  if (config.bos_token_id) json["bos_token_id"] = *config.bos_token_id;
  if (config.eos_token_ids.size() == 1) json["eos_token_id"] = config.eos_token_ids.front();
  if (config.eos_token_ids.size() > 1) json["eos_token_id"] = config.eos_token_ids;
  if (!config.torch_dtype.empty()) json["torch_dtype"] = config.torch_dtype;
  if (config.initializer_range != ModelConfig().initializer_range) {
    json["initializer_range"] = config.initializer_range;
  }
  add_own_object(config, json);
  return json;
}

}  // namespace lime
