// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/family.h"

#include <fmt/format.h>

namespace lime {

double read_norm_eps(const KeyReader& keys, const char* key, double otherwise) {
  const double eps = keys.number(key).value_or(otherwise);
  if (eps < 0.0) keys.fail(key, "at least 0", eps);
  return eps;
}

NormSpec read_layer_norm(const KeyReader& keys, const char* key, double otherwise) {
  return {
      .kind = NormKind::kLayerNorm, .has_bias = true, .eps = read_norm_eps(keys, key, otherwise)};
}

void set_learned_positions(DecoderSpec& spec, std::int64_t offset) {
  spec.ropes.clear();
  spec.layers.front().rope = std::nullopt;
  spec.learned_position_offset = offset;
}

void refuse_variant(const KeyReader& keys, const char* key, std::string_view expected,
                    const ModelConfig& config) {
  const TensorNames& names = config.spec.names;
  keys.fail(key,
            fmt::format("{} are not supported (record the model from Python with "
                        "lime_toolkit.Recorder and sites={{'hidden': '{}{}.*'}})",
                        expected, names.prefix, names.layers),
            *keys.find(key));
}

void read_attention_bias(const KeyReader& keys, ModelConfig& config, bool otherwise) {
  config.spec.qkv_bias = keys.boolean("attention_bias", otherwise);
  config.spec.o_bias = config.spec.qkv_bias;
}

}  // namespace lime
