// SPDX-License-Identifier: Apache-2.0
// Changes of the coordinates of a head's values, undone by the output projection.
#include <ATen/Functions.h>

#include "model/gauge/gauge_list.h"
#include "model/gauge/head_coordinates.h"

namespace lime {
namespace {

constexpr const char* kClipped = "queries, keys and values are clipped, and a bound is no scale";

std::string value_scale_refusal(const ModelConfig& config) {
  if (config.spec.qkv_clip) return kClipped;
  if (!mixes_heads(config)) return {};
  return "a routed head mixes several heads, with weights that keys and values share; see "
         "route-scale";
}

void scale_values(GaugeWeights& weights, GaugeDraws& draws) {
  const ModelConfig& config = weights.config();
  const auto factors =
      draw_for_heads(config, value_sharing(config), [&] { return draws.factors(1); });
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const at::Tensor of_heads = at::cat(factors[layer]).repeat_interleave(config.head_dim);
    weights.projection(Part::kValue, layer).multiply_outputs(of_heads);
    weights.projection(Part::kAttentionOutput, layer)
        .divide_inputs(for_query_heads(config, of_heads));
  }
}

std::string value_rotation_refusal(const ModelConfig& config) {
  if (config.spec.qkv_clip) return kClipped;
  if (!has_router(config) || !config.lime.per_dimension) return {};
  return "the router has a weight per dimension of a head, and rotations mix dimensions";
}

void rotate_values(GaugeWeights& weights, GaugeDraws& draws) {
  const ModelConfig& config = weights.config();
  const std::int64_t dim = config.head_dim;
  const std::int64_t group = config.num_attention_heads / config.num_key_value_heads;
  const auto rotations =
      draw_for_heads(config, value_sharing(config), [&] { return draws.rotation(dim); });
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const GaugeProjection values = weights.projection(Part::kValue, layer);
    const at::Tensor output = weights.find(Part::kAttentionOutput, layer);
    for (std::int64_t head = 0; head < config.num_key_value_heads; ++head) {
      const at::Tensor& rotation = rotations[layer][head];
      for (const at::Tensor& tensor : {values.weight, values.bias}) {
        if (!tensor.defined()) continue;
        at::Tensor rows = tensor.narrow(0, head * dim, dim);
        rows.copy_(at::matmul(rotation, rows));
      }
      for (std::int64_t reader = head * group; reader < (head + 1) * group; ++reader) {
        at::Tensor columns = output.narrow(1, reader * dim, dim);
        columns.copy_(at::matmul(columns, rotation.t()));
      }
    }
  }
}

}  // namespace

const Gauge kValueScale = {
    .name = "value-scale",
    .description = "scales the values of each head, and W_O inversely",
    .has_strength = true,
    .refusal = value_scale_refusal,
    .apply = scale_values,
};

const Gauge kValueRotation = {
    .name = "value-rotation",
    .description = "rotates the values of each head, and W_O inversely",
    .has_strength = true,
    .refusal = value_rotation_refusal,
    .apply = rotate_values,
};

}  // namespace lime
