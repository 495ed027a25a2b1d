// SPDX-License-Identifier: Apache-2.0
// The scale of keys against queries, for each pair of dimensions that rotates together.
#include <ATen/Functions.h>

#include "model/gauge/gauge_list.h"
#include "model/gauge/head_coordinates.h"

namespace lime {
namespace {

std::string query_key_refusal(const ModelConfig& config) {
  const DecoderSpec& spec = config.spec;
  const bool has_norm = spec.qk_norm != QkNorm::kNone;
  if (spec.qkv_clip && (!has_norm || spec.clips_after_norm)) {
    return "queries and keys are clipped, and a bound is no scale";
  }
  const NormSpec& norm = spec.head_norm ? *spec.head_norm : spec.norm;
  if (has_norm && !norm.has_weight) return "queries and keys are normalised without a gain";
  return {};
}

/// Draws factors of the dimensions of a head, equal for dimensions that rotate together.
at::Tensor draw_pairs(const ModelConfig& config, GaugeDraws& draws) {
  const std::int64_t rotated = config.rotary_dim();
  const at::Tensor pairs = draws.factors(rotated / 2);
  const at::Tensor rotating =
      config.spec.interleaved_rotation ? pairs.repeat_interleave(2) : at::cat({pairs, pairs});
  return at::cat({rotating, draws.factors(config.head_dim - rotated)});
}

/// Multiplies the gain of a norm, stored as it is or less one, and its bias.
void multiply_gain(const GaugeProjection& norm, const NormSpec& spec, const at::Tensor& factors) {
  const double stored_less = spec.kind == NormKind::kRmsPlusOne ? 1.0 : 0.0;
  at::Tensor(norm.weight).add_(stored_less).mul_(factors).sub_(stored_less);
  if (norm.bias.defined()) at::Tensor(norm.bias).mul_(factors);
}

void scale_queries_and_keys(GaugeWeights& weights, GaugeDraws& draws) {
  const ModelConfig& config = weights.config();
  const DecoderSpec& spec = config.spec;
  HeadSharing sharing = key_sharing(config);
  const bool has_norm = spec.qk_norm != QkNorm::kNone;
  if (spec.qk_norm == QkNorm::kPerHead) sharing.across_heads = true;
  const auto factors = draw_for_heads(config, sharing, [&] { return draw_pairs(config, draws); });
  const NormSpec& norm = spec.head_norm ? *spec.head_norm : spec.norm;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    at::Tensor of_keys = at::cat(factors[layer]);
    at::Tensor of_queries = for_query_heads(config, of_keys).reciprocal();
    if (!has_norm) {
      weights.projection(Part::kKey, layer).multiply_outputs(of_keys);
      weights.projection(Part::kQuery, layer).multiply_outputs(of_queries);
      continue;
    }
    if (spec.qk_norm == QkNorm::kPerHead) {
      of_keys = of_keys.narrow(0, 0, config.head_dim);
      of_queries = of_queries.narrow(0, 0, config.head_dim);
    }
    multiply_gain(weights.projection(Part::kKeyNorm, layer), norm, of_keys);
    multiply_gain(weights.projection(Part::kQueryNorm, layer), norm, of_queries);
  }
}

}  // namespace

const Gauge kQueryKeyScale = {
    .name = "query-key-scale",
    .description =
        "scales each rotary pair of dimensions of the keys of a head, and the queries "
        "inversely",
    .has_strength = true,
    .refusal = query_key_refusal,
    .apply = scale_queries_and_keys,
};

}  // namespace lime
