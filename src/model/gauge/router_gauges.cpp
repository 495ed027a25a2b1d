// SPDX-License-Identifier: Apache-2.0
// The scale of LIMe's buffered heads against the routers that read them.
#include <ATen/Functions.h>

#include "checkpoint/router_layout.h"
#include "model/gauge/gauge_list.h"
#include "model/gauge/head_coordinates.h"

namespace lime {
namespace {

std::string route_refusal(const ModelConfig& config) {
  if (!has_router(config)) return "it has no router over layers";
  if (config.lime.router == RouterKind::kAverage) return "its router has no weights";
  if (config.lime.dynamic) return "its router's weights are a softmax, whose sum is 1";
  if (config.spec.qkv_clip) return "keys and values are clipped, and a bound is no scale";
  return {};
}

/// Divides the weights with which a layer reads buffered heads by their factors.
void divide_routes(const GaugeWeights& weights, std::int64_t layer,
                   const std::vector<at::Tensor>& factors) {
  const ModelConfig& config = weights.config();
  const std::int64_t heads = config.num_key_value_heads;
  const std::vector<std::int64_t> sources = router_sources(config.lime, layer);
  const at::Tensor router = weights.find(Part::kRouter, layer);
  const at::Tensor by_source =
      router.view({heads, std::ssize(sources), mixes_heads(config) ? heads : 1, -1});
  for (std::int64_t place = 0; place < std::ssize(sources); ++place) {
    const at::Tensor& of_source = factors[sources[place]];
    // A routed head that reads only its own: the factor follows the routed head.
    by_source.select(1, place).div_(mixes_heads(config) ? of_source.view({1, heads, 1})
                                                        : of_source.view({heads, 1, 1}));
  }
}

void scale_routes(GaugeWeights& weights, GaugeDraws& draws) {
  const ModelConfig& config = weights.config();
  const bool has_key_norm = config.spec.qk_norm != QkNorm::kNone;
  std::vector<at::Tensor> factors;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    factors.push_back(draws.factors(config.num_key_value_heads));
    // Layer 0 has no router, so its key norm would undo the scale, up to epsilon.
    if (layer == 0 && has_key_norm) factors.back().fill_(1.0);
    const at::Tensor by_dimension = factors.back().repeat_interleave(config.head_dim);
    weights.projection(Part::kKey, layer).multiply_outputs(by_dimension);
    weights.projection(Part::kValue, layer).multiply_outputs(by_dimension);
    if (layer > 0) {
      divide_routes(weights, layer, factors);
    } else {
      const at::Tensor of_queries = for_query_heads(config, by_dimension);
      weights.projection(Part::kQuery, layer).multiply_outputs(of_queries.reciprocal());
      weights.projection(Part::kAttentionOutput, layer).divide_inputs(of_queries);
    }
  }
}

}  // namespace

const Gauge kRouteScale = {
    .name = "route-scale",
    .description =
        "scales the keys and values of each buffered head of a LIMe, and the routers "
        "that read it inversely",
    .has_strength = true,
    .refusal = route_refusal,
    .apply = scale_routes,
};

}  // namespace lime
