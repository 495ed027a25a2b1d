// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/rope_reading.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/options.h"
#include "core/utf8.h"

namespace lime {

namespace {

constexpr const char* kRopeTheta = "rope_theta";
constexpr const char* kPartialRotation = "partial_rotary_factor";
constexpr std::array kLayerTypes = {"full_attention", "sliding_attention"};
constexpr const char* kOriginalContext = "original_max_position_embeddings";

/// Null is none here, unlike elsewhere: transformers has no default in its place, and fails.
double read_theta(const KeyReader& keys, const char* key, double otherwise) {
  if (keys.contains(key) && keys.find(key) == nullptr) {
    keys.fail(key, fmt::format("a positive number, or be absent for {}", otherwise), nullptr);
  }
  return keys.positive(key, otherwise);
}

/// Returns the object with the scaling and its key, or null.
std::pair<const Json*, const char*> rope_object(const KeyReader& keys) {
  std::pair<const Json*, const char*> found = {nullptr, nullptr};
  for (const char* const key : {"rope_parameters", "rope_scaling"}) {
    const Json* const object = keys.find(key);
    if (object != nullptr && !object->empty()) found = {object, key};
  }
  return found;
}

/// Returns the kind; "su" is how the first Phi-3 files call longrope, and some of them "yarn".
RopeKind read_kind(const KeyReader& rope, bool is_phi3) {
  const auto old_name = rope.text("type");
  const std::string name = rope.text("rope_type").value_or(old_name.value_or("default"));
  if (is_phi3 && (name == "su" || name == "yarn")) return RopeKind::kLongRope;
  for (const auto& [kind, known] : EnumNames<RopeKind>::kNames) {
    if (known == name) return kind;
  }
  throw FormatError(
      "{}: unknown RoPE type '{}' (supported: default, linear, dynamic, llama3, yarn, longrope)",
      rope.where(), printable(name));
}

/// Returns a number that is not given if it is null or 0, as in Python's `x or y`.
double nonzero_or(const KeyReader& rope, const char* key, double otherwise) {
  const double value = rope.number(key).value_or(0.0);
  return value == 0.0 ? otherwise : value;
}

/// Returns the factor of cosine and sine that the paper of YaRN (arXiv:2309.00071) suggests.
double yarn_attention_factor(const KeyReader& rope, double factor) {
  const auto scale = [&](double mscale) {
    return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
  };
  const double item = rope.number("mscale").value_or(0.0);
  const double all = rope.number("mscale_all_dim").value_or(0.0);
  return item != 0.0 && all != 0.0 ? scale(item) / scale(all) : scale(1.0);
}

std::vector<double> read_factors(const KeyReader& rope, const char* key) {
  const Json& list = rope.required(key);
  if (!list.is_array()) rope.fail(key, "a list of numbers", list);
  std::vector<double> factors;
  for (const Json& item : list) {
    if (!item.is_number()) rope.fail(key, "a list of numbers", item);
    factors.push_back(item.get<double>());
  }
  return factors;
}

void read_yarn(const KeyReader& rope, double stretch, RopeSpec& result) {
  result.factor = rope.contains("factor") ? rope.number("factor").value_or(stretch)
                                          : rope.required_number("factor");
  const auto attention = rope.number("attention_factor");
  result.attention_factor = attention ? *attention : yarn_attention_factor(rope, result.factor);
  result.beta_fast = nonzero_or(rope, "beta_fast", result.beta_fast);
  result.beta_slow = nonzero_or(rope, "beta_slow", result.beta_slow);
  result.truncate = rope.boolean("truncate", true);
}

void read_longrope(const KeyReader& rope, double stretch, RopeSpec& result) {
  result.short_factor = read_factors(rope, "short_factor");
  result.long_factor = read_factors(rope, "long_factor");
  const double factor = rope.number("factor").value_or(stretch);
  const double context = static_cast<double>(result.original_max_position_embeddings);
  const double usual = factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(context));
  result.attention_factor = rope.number("attention_factor").value_or(usual);
}

/// Reads a RoPE object without its base.
/// @param original  of the file, outside of the object
RopeSpec read_scaling(const KeyReader& rope, const ModelConfig& config, bool is_phi3,
                      std::optional<std::int64_t> original) {
  RopeSpec result;
  result.kind = read_kind(rope, is_phi3);
  const std::int64_t longest = config.max_position_embeddings;
  const auto inner = rope.integer(kOriginalContext);
  if (result.kind == RopeKind::kDefault) return result;
  result.original_max_position_embeddings = original ? *original : inner.value_or(longest);
  const double stretch =
      static_cast<double>(longest) / static_cast<double>(result.original_max_position_embeddings);
  switch (result.kind) {
    case RopeKind::kLinear:
      result.original_max_position_embeddings = 0;
      result.factor = rope.required_number("factor");
      break;
    case RopeKind::kDynamic:
      result.original_max_position_embeddings = longest;
      result.factor = rope.required_number("factor");
      break;
    case RopeKind::kLlama3:
      result.factor = rope.required_number("factor");
      result.low_freq_factor = rope.required_number("low_freq_factor");
      result.high_freq_factor = rope.required_number("high_freq_factor");
      break;
    case RopeKind::kYarn: read_yarn(rope, stretch, result); break;
    case RopeKind::kLongRope: read_longrope(rope, stretch, result); break;
    case RopeKind::kDefault: break;
  }
  return result;
}

/// Returns the objects of the two layer types, completed by the keys of transformers 4.
std::array<Json, 2> layer_type_objects(const KeyReader& keys) {
  std::array<Json, 2> objects = {Json::object(), Json::object()};
  if (const Json* const given = keys.find("rope_parameters")) {
    const KeyReader types(*given, fmt::format("{}: 'rope_parameters'", keys.where()));
    const Json* const full = types.find(kLayerTypes[0]);
    const Json* const sliding = types.find(kLayerTypes[1]);
    if (full == nullptr && sliding == nullptr && !given->empty()) {
      throw FormatError("{}: must have the objects full_attention and sliding_attention, got {}",
                        types.where(), printable(given->dump()));
    }
    if (full != nullptr) objects[0] = *full;
    if (sliding != nullptr) objects[1] = *sliding;
  }
  const Json* const scaling = keys.find("rope_scaling");
  if (scaling != nullptr && scaling->is_object() && objects[0].is_object()) {
    objects[0].update(*scaling);
  }
  return objects;
}

}  // namespace

RopeSpec read_rope(const KeyReader& keys, ModelConfig& config, const RopeReading& how) {
  keys.find(how.theta_key);
  const auto [object, key] = rope_object(keys);
  if (object == nullptr) {
    RopeSpec result;
    result.theta = read_theta(keys, how.theta_key, how.theta);
    return result;
  }
  const KeyReader rope(*object, fmt::format("{}: '{}'", keys.where(), key));
  throw_if<FormatError>(
      rope.find("full_attention") != nullptr || rope.find("sliding_attention") != nullptr,
      "{}: must be the same for all layers, got different values per layer type", rope.where());
  if (!how.may_be_partial) refuse_partial_rotation(rope);
  const bool is_phi3 = how.original_max_position_embeddings.has_value();
  const auto original =
      is_phi3 ? how.original_max_position_embeddings : keys.integer(kOriginalContext);
  RopeSpec result = read_scaling(rope, config, is_phi3, original);
  result.theta = rope.contains(kRopeTheta) ? read_theta(rope, kRopeTheta, how.theta)
                                           : read_theta(keys, how.theta_key, how.theta);
  rope.find(kPartialRotation);
  for (const char* const own : how.own_keys) rope.find(own);
  warn_of_unknown_keys(rope, config.warnings);
  return result;
}

RopeSpec read_whole_rope(const KeyReader& keys, ModelConfig& config, double theta) {
  refuse_partial_rotation(keys);
  return read_rope(keys, config, {.theta = theta});
}

std::array<RopeSpec, 2> read_ropes_by_layer_type(const KeyReader& keys, ModelConfig& config,
                                                 const LayerTypeThetas& thetas) {
  const std::array<const char*, 2> theta_keys = {kRopeTheta, thetas.sliding_theta_key};
  for (const char* const key : theta_keys) {
    if (key != nullptr) keys.find(key);
  }
  std::array<RopeSpec, 2> ropes;
  const std::array<Json, 2> objects = layer_type_objects(keys);
  for (std::size_t i = 0; i < ropes.size(); ++i) {
    const KeyReader rope(objects[i], fmt::format("{}: {}", keys.where(), rope_place(config, i)));
    refuse_partial_rotation(rope);
    if (!rope.boolean("truncate", true)) {
      rope.fail("truncate", "true, because transformers does not read it per layer type", false);
    }
    ropes[i] = read_scaling(rope, config, false, std::nullopt);
    const double otherwise = i == 0 ? thetas.full_theta : thetas.sliding_theta;
    ropes[i].theta = rope.contains(kRopeTheta) || theta_keys[i] == nullptr
                         ? read_theta(rope, kRopeTheta, otherwise)
                         : read_theta(keys, theta_keys[i], otherwise);
    warn_of_unknown_keys(rope, config.warnings);
  }
  return ropes;
}

void set_ropes_by_window(ModelConfig& config, const std::array<RopeSpec, 2>& ropes) {
  config.spec.ropes = {ropes.begin(), ropes.end()};
  for (LayerSpec& layer : config.spec.layers) layer.rope = layer.window ? 1 : 0;
}

void set_rotary_dim(const KeyReader& keys, const char* key, double otherwise, ModelConfig& config,
                    OneDimension one_dimension) {
  const Json* const object = rope_object(keys).first;
  const Json none = Json::object();
  const KeyReader rope(object == nullptr ? none : *object, keys.where());
  const auto inner = rope.number(kPartialRotation);
  const double fraction = inner ? *inner : keys.number(key).value_or(otherwise);
  if (keys.number(kPartialRotation).value_or(fraction) != fraction) {
    keys.fail(kPartialRotation, fmt::format("{}, as '{}'", fraction, key),
              *keys.find(kPartialRotation));
  }
  // transformers rounds an odd number up, but divides the exponents by it.
  auto rotated = static_cast<std::int64_t>(static_cast<double>(config.head_dim) * fraction);
  if (rotated == 1 && one_dimension == OneDimension::kMeansTwo) rotated = 2;
  throw_if<FormatError>(rotated < 2 || rotated % 2 != 0 || rotated > config.head_dim,
                        "{}: '{}' must give an even number of dimensions of {} to rotate, got {}",
                        keys.where(), key, config.head_dim, rotated);
  config.spec.rotary_dim = rotated == config.head_dim ? 0 : rotated;
}

std::string rope_place(const ModelConfig& config, std::size_t index) {
  if (!config.raw.is_object()) return "'rope_scaling'";
  const KeyReader keys(config.raw, "");
  const Json* const parameters = keys.find("rope_parameters");
  const char* const type = kLayerTypes.at(index);
  if (parameters != nullptr && parameters->is_object() && parameters->contains(type)) {
    return fmt::format("'rope_parameters': '{}'", type);
  }
  const auto [object, key] = rope_object(keys);
  return fmt::format("'{}'", object == nullptr ? "rope_scaling" : key);
}

void write_rope(const RopeSpec& rope, Json& json) {
  json["rope_theta"] = rope.theta;
  json["rope_scaling"] = nullptr;
  if (rope.kind == RopeKind::kDefault) return;
  Json scaling = {{"rope_type", enum_name(rope.kind)}};
  if (rope.kind != RopeKind::kLongRope) scaling["factor"] = rope.factor;
  if (rope.kind == RopeKind::kLlama3) {
    scaling["low_freq_factor"] = rope.low_freq_factor;
    scaling["high_freq_factor"] = rope.high_freq_factor;
  }
  if (rope.kind == RopeKind::kYarn) {
    scaling["beta_fast"] = rope.beta_fast;
    scaling["beta_slow"] = rope.beta_slow;
    scaling["truncate"] = rope.truncate;
  }
  if (rope.kind == RopeKind::kLongRope) {
    scaling["short_factor"] = rope.short_factor;
    scaling["long_factor"] = rope.long_factor;
  }
  if (rope.kind == RopeKind::kYarn || rope.kind == RopeKind::kLongRope) {
    scaling["attention_factor"] = rope.attention_factor;
  }
  if (rope.kind != RopeKind::kLinear && rope.kind != RopeKind::kDynamic) {
    scaling[kOriginalContext] = rope.original_max_position_embeddings;
  }
  json["rope_scaling"] = std::move(scaling);
}

void refuse_partial_rotation(const KeyReader& keys) {
  if (keys.number(kPartialRotation).value_or(1.0) != 1.0)
    keys.fail(kPartialRotation, "1", *keys.find(kPartialRotation));
}

}  // namespace lime
