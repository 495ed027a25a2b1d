// SPDX-License-Identifier: Apache-2.0
// The order of heads: key-value heads with their query heads, and query heads of one group.
#include <ATen/Functions.h>

#include "checkpoint/router_layout.h"
#include "model/gauge/gauge_list.h"
#include "model/gauge/head_coordinates.h"

namespace lime {
namespace {

std::string head_refusal(const ModelConfig& config) {
  if (config.num_attention_heads > 1) return {};
  return "it has a single head";
}

/// Orders of the key-value heads and of the query heads of a layer.
struct HeadOrder {
  at::Tensor keys;
  at::Tensor queries;
};

HeadOrder draw_order(const ModelConfig& config, GaugeDraws& draws) {
  const std::int64_t group = config.num_attention_heads / config.num_key_value_heads;
  HeadOrder order{draws.permutation(config.num_key_value_heads), {}};
  std::vector<at::Tensor> queries;
  for (std::int64_t i = 0; i < config.num_key_value_heads; ++i) {
    queries.push_back(draws.permutation(group) + order.keys[i].item<std::int64_t>() * group);
  }
  order.queries = at::cat(queries);
  return order;
}

/// Returns the order of all dimensions of heads in the order `heads`.
at::Tensor by_dimension(const at::Tensor& heads, std::int64_t dim) {
  return (heads.unsqueeze(1) * dim + at::arange(dim, heads.options())).flatten();
}

/// Permutes the routed heads of a layer's router, and the buffered heads that it reads.
void permute_router(const GaugeWeights& weights, std::int64_t layer,
                    const std::vector<HeadOrder>& orders) {
  const ModelConfig& config = weights.config();
  const std::int64_t heads = config.num_key_value_heads;
  const std::vector<std::int64_t> sources = router_sources(config.lime, layer);
  const at::Tensor& own = orders[layer].keys;
  const bool is_dynamic = has_dynamic_router(config, layer);
  if (is_dynamic) {
    permute_along(weights.find(Part::kRouter, layer, 1), 0, by_dimension(own, config.head_dim));
  }
  const at::Tensor router = weights.find(Part::kRouter, layer, is_dynamic ? 2 : 0);
  if (!router.defined()) return;
  if (!is_dynamic) permute_along(router, 0, own);
  if (!mixes_heads(config)) return;
  // Sources and their heads are the first axes of the keys of a router, but follow the routed head
  // in weights.
  const at::Tensor by_source = is_dynamic ? router.view({1, std::ssize(sources), heads, -1})
                                          : router.view({heads, std::ssize(sources), heads, -1});
  for (std::int64_t place = 0; place < std::ssize(sources); ++place) {
    permute_along(by_source.select(1, place), 1, orders[sources[place]].keys);
  }
}

void permute_layer(const GaugeWeights& weights, std::int64_t layer, const HeadOrder& order) {
  const ModelConfig& config = weights.config();
  const at::Tensor keys = by_dimension(order.keys, config.head_dim);
  const at::Tensor queries = by_dimension(order.queries, config.head_dim);
  weights.projection(Part::kQuery, layer).permute_outputs(queries);
  weights.projection(Part::kKey, layer).permute_outputs(keys);
  weights.projection(Part::kValue, layer).permute_outputs(keys);
  weights.projection(Part::kAttentionOutput, layer).permute_inputs(queries);
  permute_along(weights.find(Part::kSinks, layer), 0, order.queries);
  if (config.spec.qk_norm == QkNorm::kNone || config.spec.qk_norm == QkNorm::kPerHead) return;
  weights.projection(Part::kQueryNorm, layer).permute_outputs(queries);
  weights.projection(Part::kKeyNorm, layer).permute_outputs(keys);
}

void permute_heads(GaugeWeights& weights, GaugeDraws& draws) {
  const ModelConfig& config = weights.config();
  const bool is_shared = value_sharing(config).across_layers && !mixes_heads(config);
  std::vector<HeadOrder> orders;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    orders.push_back(is_shared && layer > 0 ? HeadOrder(orders.front())
                                            : draw_order(config, draws));
  }
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    permute_layer(weights, layer, orders[layer]);
    if (has_router(config) && layer > 0) permute_router(weights, layer, orders);
  }
}

}  // namespace

const Gauge kHeadPermutation = {
    .name = "head-permutation",
    .description = "permutes the key-value heads of a layer, and the query heads of each",
    .has_strength = false,
    .refusal = head_refusal,
    .apply = permute_heads,
};

}  // namespace lime
