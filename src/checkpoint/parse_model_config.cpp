// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parse_model_config.h"

#include <algorithm>
#include <limits>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/families/family.h"
#include "checkpoint/families/key_reader.h"
#include "checkpoint/families/transformers_names.h"
#include "checkpoint/gguf/gguf_files.h"
#include "checkpoint/gguf/gguf_model.h"
#include "core/files/atomic_file.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// `model_type` of the open implementation of Attention Residuals.
constexpr std::string_view kOpenAttnRes = "qwen3_attnres";

/// Returns "; did you mean 'X'" for a typo. The name of another architecture is none, nor is
/// another generation.
std::string suggest_decoder(const std::string& name) {
  if (is_transformers_name(name)) return "";
  const auto digits_of = [](std::string text) {
    std::erase_if(text, [](char letter) { return letter < '0' || letter > '9'; });
    return text;
  };
  std::vector<std::string> names = decoder_names();
  std::erase_if(names,
                [&](const std::string& other) { return digits_of(other) != digits_of(name); });
  const std::string typed = closest_word(name, names);
  return typed.empty() ? "" : fmt::format("; did you mean '{}'?", typed);
}

const Family& read_family(const KeyReader& keys, ModelConfig& config) {
  const auto name = keys.text("model_type");
  throw_if<FormatError>(!name, "{}: 'model_type' is missing, expected one of {}", keys.where(),
                        join_words(decoder_names()));
  config.routing = find_enum<DepthRouting>(*name).value_or(DepthRouting::kNone);
  std::string_view blocks =
      config.routing == DepthRouting::kNone ? std::string_view(*name) : "llama";
  if (*name == kOpenAttnRes) {
    config.routing = DepthRouting::kAttentionResiduals;
    blocks = "qwen3";
  }
  const Family* const family = find_family(blocks);
  if (family == nullptr) {
    throw FormatError(
        "{}: {} decoder '{}' in model_type (supported: {}){}; record other models from Python with "
        "lime_toolkit.Recorder",
        keys.where(), is_transformers_name(*name) ? "unsupported" : "unknown", printable(*name),
        join_words(decoder_names()), suggest_decoder(*name));
  }
  config.family = family->model_type;
  return *family;
}

// Allowed values of a key of config.json; an absent key leaves the value as it is.

void read_value(const KeyReader& keys, const char* key, std::int64_t& value) {
  value = keys.integer(key).value_or(value);
}

void read_value(const KeyReader& keys, const char* key, double& value) {
  value = keys.number(key).value_or(value);
}

void read_value(const KeyReader& keys, const char* key, std::optional<double>& value) {
  value = keys.number(key);
}

void read_value(const KeyReader& keys, const char* key, bool& value) {
  value = keys.boolean(key, value);
}

template <NamedEnum Enum> void read_value(const KeyReader& keys, const char* key, Enum& value) {
  const auto name = keys.text(key);
  if (!name) return;
  const auto found = find_enum<Enum>(*name);
  throw_if<FormatError>(!found, "{}: unknown {} '{}' (supported: {})", keys.where(), key,
                        printable(*name), join_words(enum_names<Enum>()));
  value = *found;
}

/// Calls `visit(key, value)` for each field of the object that config.json has for a routing.
template <typename Config, typename Visit> void visit_routing(Config& config, const Visit& visit) {
  switch (config.routing) {
    case DepthRouting::kLime:
      visit("router", config.lime.router);
      visit("j", config.lime.j);
      visit("head_mixing", config.lime.head_mixing);
      visit("per_dimension", config.lime.per_dimension);
      visit("dynamic", config.lime.dynamic);
      return visit("initializer_scale", config.lime.initializer_scale);
    case DepthRouting::kDenseFormer:
      visit("dilation", config.denseformer.dilation);
      return visit("period", config.denseformer.period);
    case DepthRouting::kHyperConnections:
      visit("dynamic", config.hyper_connections.dynamic);
      return visit("rate", config.hyper_connections.rate);
    case DepthRouting::kResFormer: return visit("first_layer_only", config.first_layer_values_only);
    case DepthRouting::kAttentionResiduals:
      visit("num_blocks", config.attn_res.num_blocks);
      visit("sources", config.attn_res.sources);
      return visit("recency_bias_init", config.attn_res.recency_bias_init);
    case DepthRouting::kManifoldHyperConnections:
      visit("hc_mult", config.mhc.hc_mult);
      visit("hc_sinkhorn_iters", config.mhc.hc_sinkhorn_iters);
      return visit("hc_eps", config.mhc.hc_eps);
    case DepthRouting::kDepthAttention:
      visit("stride", config.depth_attention.stride);
      return visit("recent_window", config.depth_attention.recent_window);
    case DepthRouting::kMudd: return visit("round64", config.mudd.round64);
    case DepthRouting::kNone: break;
  }
}

/// Reads the keys of the open Attention Residuals; recognise_attn_res() tells its programs apart.
AttnResConfig read_open_attn_res(const KeyReader& keys, std::int64_t num_layers) {
  const auto require = [&](const char* key, std::string_view expected, const std::string& got) {
    if (got != expected) keys.fail(key, fmt::format("'{}', the only supported one", expected), got);
  };
  const std::string mode = keys.text("attnres_mode").value_or("block");
  if (mode != "full") require("attnres_mode", "block", mode);
  require("attnres_gate_type", "bias", keys.text("attnres_gate_type").value_or("bias"));
  if (keys.boolean("attnres_use_null_source", false)) {
    keys.fail("attnres_use_null_source", "false, because null sources are not supported", true);
  }
  std::int64_t blocks = std::max<std::int64_t>(keys.integer("attnres_num_blocks").value_or(8), 1);
  const std::int64_t layers_per_block =
      std::max<std::int64_t>((num_layers + blocks - 1) / blocks, 1);
  if (num_layers % layers_per_block == 0) blocks = num_layers / layers_per_block;
  return {.num_blocks = mode == "full" ? 0 : blocks,
          .sources = AttnResSources::kStates,
          .recency_bias_init = keys.number("attnres_recency_bias_init").value_or(3.0)};
}

/// Reads the keys of the authors' Depth-Attention, which calls itself `llama`.
void read_public_depth_attention(const KeyReader& keys, ModelConfig& config) {
  if (!keys.boolean("use_depth_attention", false)) return;
  if (config.routing != DepthRouting::kNone) {
    keys.fail("use_depth_attention", "false beside another routing", true);
  }
  if (keys.boolean("use_qk_norm", false)) {
    keys.fail("use_qk_norm",
              "false with use_depth_attention, because a norm of keys after their rotation is not "
              "supported",
              true);
  }
  config.routing = DepthRouting::kDepthAttention;
  config.depth_attention = {
      .stride = keys.integer("depth_attention_stride").value_or(0),
      .recent_window = keys.integer("depth_attention_recent_window").value_or(0)};
}

/// Reads the object named after a routing; without one, that of `model_type` has its defaults.
void read_routing(const KeyReader& keys, ModelConfig& config) {
  if (keys.text("model_type") == kOpenAttnRes)
    config.attn_res = read_open_attn_res(keys, config.num_hidden_layers);
  read_public_depth_attention(keys, config);
  for (const auto& [routing, name] : EnumNames<DepthRouting>::kNames) {
    if (routing == DepthRouting::kNone || keys.find(name) == nullptr) continue;
    throw_if<FormatError>(config.routing != DepthRouting::kNone && config.routing != routing,
                          "{}: must have one routing, got '{}' and '{}'", keys.where(),
                          enum_name(config.routing), name);
    config.routing = routing;
  }
  const std::string_view name = enum_name(config.routing);
  const Json* const object = keys.find(name);
  if (config.routing == DepthRouting::kNone || object == nullptr) return;
  const KeyReader inner(*object, fmt::format("{}: '{}'", keys.where(), name));
  visit_routing(config, [&](const char* field, auto& value) { read_value(inner, field, value); });
}

/// Asked before the sizes are validated, so it must hold for any numbers.
std::int64_t derived_head_dim(const KeyReader& keys, const SizeKeys& names,
                              const ModelConfig& config) {
  if (config.num_attention_heads < 1) return 0;
  if (config.hidden_size % config.num_attention_heads == 0) {
    return config.hidden_size / config.num_attention_heads;
  }
  keys.fail(
      names.hidden_size,
      fmt::format("a multiple of {} = {}{}", names.num_attention_heads, config.num_attention_heads,
                  names.head_dim == nullptr ? "" : fmt::format(" if {} is absent", names.head_dim)),
      config.hidden_size);
}

void read_sizes(const KeyReader& keys, const Family& family, ModelConfig& config) {
  const SizeKeys& names = family.keys;
  config.vocab_size = keys.required_integer("vocab_size");
  config.hidden_size = keys.required_integer(names.hidden_size);
  const auto inner = keys.integer(names.intermediate_size);
  if (!inner && family.inner_per_hidden == 0) keys.required_integer(names.intermediate_size);
  constexpr std::int64_t kMaxHidden = std::numeric_limits<std::int32_t>::max();
  config.intermediate_size = inner.value_or(
      family.inner_per_hidden * std::clamp(config.hidden_size, std::int64_t{0}, kMaxHidden));
  config.num_hidden_layers = keys.required_integer(names.num_hidden_layers);
  config.num_attention_heads = keys.required_integer(names.num_attention_heads);
  config.num_key_value_heads = config.num_attention_heads;
  if (names.num_key_value_heads != nullptr) {
    const bool silent = !keys.contains(names.num_key_value_heads) && family.num_key_value_heads > 0;
    config.num_key_value_heads =
        keys.integer(names.num_key_value_heads)
            .value_or(silent ? family.num_key_value_heads : config.num_attention_heads);
  }
  std::optional<std::int64_t> head_dim;
  if (names.head_dim != nullptr) {
    head_dim = keys.integer(names.head_dim);
    const bool silent = !keys.contains(names.head_dim) && family.head_dim > 0;
    if (silent) head_dim = family.head_dim;
  }
  config.head_dim = head_dim ? *head_dim : derived_head_dim(keys, names, config);
  config.max_position_embeddings =
      keys.integer(names.max_position_embeddings).value_or(family.max_position_embeddings);
}

Activation read_activation(const KeyReader& keys, const Family& family) {
  const std::string name =
      keys.text(family.keys.activation).value_or(std::string(family.activation));
  for (const ActivationSpec& spec : kActivations) {
    if (!name.empty() && std::ranges::find(spec.config_names, name) != spec.config_names.end()) {
      return spec.activation;
    }
  }
  std::vector<std::string> known;
  for (const ActivationSpec& spec : kActivations) known.emplace_back(spec.name);
  keys.fail(family.keys.activation, "one of " + join_words(known), name);
}

void write_routing(const ModelConfig& config, Json& json) {
  if (config.routing == DepthRouting::kNone) return;
  Json object = Json::object();
  visit_routing(config, [&]<typename T>(const char* key, const T& value) {
    if constexpr (NamedEnum<T>) {
      object[key] = enum_name(value);
    } else if constexpr (std::same_as<T, std::optional<double>>) {
      if (value) object[key] = *value;
    } else {
      object[key] = value;
    }
  });
  if (config.lime.initializer_scale == LimeConfig().initializer_scale) {
    object.erase("initializer_scale");
  }
  json[std::string(enum_name(config.routing))] = std::move(object);
}

/// Returns the object with the keys that transformers has in place of those of other programs.
Json with_usual_keys(Json json, const Family& family) {
  for (const auto& [alias, key] : family.aliases) {
    const auto found = json.find(alias);
    if (found == json.end()) continue;
    Json value = std::move(*found);
    json.erase(found);
    if (!json.contains(key)) json[key] = std::move(value);
  }
  return json;
}

/// Returns the class of a model, which transformers does not know if it has a routing.
std::string_view architecture_of(const Family& family, DepthRouting routing) {
  switch (routing) {
    case DepthRouting::kNone: return family.architecture;
    case DepthRouting::kLime: return "LimeForCausalLM";
    case DepthRouting::kDenseFormer: return "DenseFormerForCausalLM";
    case DepthRouting::kHyperConnections: return "HyperConnectionsForCausalLM";
    case DepthRouting::kResFormer: return "ResFormerForCausalLM";
    case DepthRouting::kAttentionResiduals: return "AttnResForCausalLM";
    case DepthRouting::kManifoldHyperConnections: return "MhcForCausalLM";
    case DepthRouting::kDepthAttention: return "DepthAttentionForCausalLM";
    case DepthRouting::kMudd: return "MuddForCausalLM";
  }
  return family.architecture;
}

/// Sizes that have keys of the family's own.
constexpr std::pair<const char * SizeKeys::*, std::int64_t ModelConfig::*> kSizes[] = {
    {&SizeKeys::hidden_size, &ModelConfig::hidden_size},
    {&SizeKeys::intermediate_size, &ModelConfig::intermediate_size},
    {&SizeKeys::num_hidden_layers, &ModelConfig::num_hidden_layers},
    {&SizeKeys::num_attention_heads, &ModelConfig::num_attention_heads},
    {&SizeKeys::num_key_value_heads, &ModelConfig::num_key_value_heads},
    {&SizeKeys::head_dim, &ModelConfig::head_dim},
    {&SizeKeys::max_position_embeddings, &ModelConfig::max_position_embeddings}};

}  // namespace

std::vector<std::string> decoder_names() {
  std::vector<std::string> names;
  for (const Family* family : all_families()) {
    if (family->is_for_new_models) names.emplace_back(family->model_type);
  }
  for (const auto& [routing, name] : EnumNames<DepthRouting>::kNames) {
    if (routing != DepthRouting::kNone) names.emplace_back(name);
  }
  return names;
}

ModelConfig parse_model_config(const Json& json, std::string_view where) {
  ModelConfig config;
  config.raw = json;
  const Family& family = read_family(KeyReader(json, std::string(where)), config);
  const Json usual = with_usual_keys(json, family);
  const KeyReader keys(usual, std::string(where));
  keys.find("model_type");
  refuse_unsupported_keys(keys, family.reads_mxfp4);
  read_sizes(keys, family, config);
  if (family.keys.activation != nullptr) config.spec.activation = read_activation(keys, family);
  config.tie_word_embeddings = keys.boolean("tie_word_embeddings", family.tie_word_embeddings);
  config.bos_token_id = keys.integer("bos_token_id");
  config.eos_token_ids = keys.integers("eos_token_id");
  config.initializer_range = keys.number("initializer_range").value_or(config.initializer_range);
  config.torch_dtype = keys.text("dtype").value_or(keys.text("torch_dtype").value_or(""));
  read_routing(keys, config);
  ModelConfig sizes = config;
  sizes.spec.ropes.clear();
  sizes.validate(where);  // before anything is sized by num_hidden_layers
  family.read(keys, config);
  warn_of_unknown_keys(keys, config.warnings);
  config.validate(where);
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_file = path_exists(path) && !std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = is_file ? path : find_checkpoint(path).config;
  if (is_gguf_file(file)) return gguf_model_config(open_gguf(file).header, file.string());
  return parse_model_config(read_json_file(file), "'" + file.string() + "'");
}

ModelConfig make_model_config(const std::string& decoder, const Json& sizes,
                              std::string_view where) {
  const Family* const family = find_family(decoder);
  Json json = {{"model_type", decoder}};
  const SizeKeys usual;
  const SizeKeys& own = family != nullptr ? family->keys : usual;
  for (const auto& [key, value] : sizes.items()) {
    const char* name = key.c_str();
    for (const auto& [member, size] : kSizes) {
      if (key == usual.*member) name = own.*member;
    }
    if (name != nullptr) json[name] = value;
  }
  return parse_model_config(json, where);
}

Json model_config_to_json(const ModelConfig& config) {
  config.validate("model config");
  const Family* const family = find_family(config.family);
  if (family == nullptr) throw FormatError("model config: unknown family '{}'", config.family);
  const bool has_own_type = config.routing != DepthRouting::kNone && config.family == "llama";
  Json json = family->write == nullptr && config.raw.is_object() ? config.raw : Json::object();
  json.erase("quantization_config");  // weights are written as they are computed with
  json["architectures"] = Json::array({architecture_of(*family, config.routing)});
  json["model_type"] = has_own_type ? enum_name(config.routing) : config.family;
  json["vocab_size"] = config.vocab_size;
  for (const auto& [key, size] : kSizes) {
    if (family->keys.*key != nullptr) json[family->keys.*key] = config.*size;
  }
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  if (family->write != nullptr) {
    json[family->keys.activation] = enum_name(config.spec.activation);
    family->write(config, json);
  }
  if (config.bos_token_id) json["bos_token_id"] = *config.bos_token_id;
  if (config.eos_token_ids.size() == 1) json["eos_token_id"] = config.eos_token_ids.front();
  if (config.eos_token_ids.size() > 1) json["eos_token_id"] = config.eos_token_ids;
  json.erase("dtype");
  json.erase("torch_dtype");
  if (!config.torch_dtype.empty()) json["torch_dtype"] = config.torch_dtype;
  if (config.initializer_range != ModelConfig().initializer_range) {
    json["initializer_range"] = config.initializer_range;
  }
  write_routing(config, json);
  if (parse_model_config(json, "model config") == config) return json;
  throw InvalidArgument(
      "model config: a decoder of the family '{}' cannot be written with these changes",
      config.family);
}

}  // namespace lime
