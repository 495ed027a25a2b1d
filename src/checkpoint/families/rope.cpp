// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/rope.h"

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Null is none here, unlike elsewhere: transformers has no default in its place, and fails.
void read_rope_theta(const KeyReader& keys, double& rope_theta) {
  constexpr const char* kKey = "rope_theta";
  if (keys.contains(kKey) && keys.find(kKey) == nullptr) {
    keys.fail(kKey, "a positive number, or be absent for 10000", nullptr);
  }
  rope_theta = keys.number(kKey).value_or(rope_theta);
}

}  // namespace

RopeSpec read_rope(const KeyReader& keys, const ModelConfig& config) {
  RopeSpec result;
  const char* key = "rope_scaling";
  const Json* object = keys.find(key);
  if (object == nullptr || object->empty()) {
    key = "rope_parameters";
    object = keys.find(key);
  }
  if (object == nullptr || object->empty()) {
    read_rope_theta(keys, result.theta);
    return result;
  }
  const KeyReader rope(*object, fmt::format("{}: '{}'", keys.where(), key));
  if (rope.find("full_attention") != nullptr || rope.find("sliding_attention") != nullptr) {
    throw FormatError("{}: must be the same for all layers, got different values per layer type",
                      rope.where());
  }
  read_rope_theta(rope.contains("rope_theta") ? rope : keys, result.theta);
  refuse_partial_rotation(rope);
  const auto old_name = rope.text("type");
  const auto name = rope.text("rope_type").value_or(old_name.value_or("default"));
  if (name == "default") return result;
  if (name != "linear" && name != "llama3") {
    throw FormatError("{}: unknown RoPE type '{}' (supported: default, linear, llama3)",
                      rope.where(), printable(name));
  }
  result.kind = name == "linear" ? RopeKind::kLinear : RopeKind::kLlama3;
  result.factor = rope.required_number("factor");
  if (result.kind != RopeKind::kLlama3) return result;
  result.low_freq_factor = rope.required_number("low_freq_factor");
  result.high_freq_factor = rope.required_number("high_freq_factor");
  const char* const original = "original_max_position_embeddings";
  const auto outer = keys.integer(original);
  const auto inner = rope.integer(original);
  result.original_max_position_embeddings =
      outer ? *outer : inner.value_or(config.max_position_embeddings);
  return result;
}

void write_rope(const RopeSpec& rope, Json& json) {
  json["rope_theta"] = rope.theta;
  json["rope_scaling"] = nullptr;
  if (rope.kind == RopeKind::kDefault) return;
  Json scaling = {{"rope_type", enum_name(rope.kind)}, {"factor", rope.factor}};
  if (rope.kind == RopeKind::kLlama3) {
    scaling["low_freq_factor"] = rope.low_freq_factor;
    scaling["high_freq_factor"] = rope.high_freq_factor;
    scaling["original_max_position_embeddings"] = rope.original_max_position_embeddings;
  }
  json["rope_scaling"] = std::move(scaling);
}

void refuse_partial_rotation(const KeyReader& keys) {
  constexpr const char* kKey = "partial_rotary_factor";
  if (keys.number(kKey).value_or(1.0) != 1.0) keys.fail(kKey, "1", *keys.find(kKey));
}

}  // namespace lime
