// SPDX-License-Identifier: Apache-2.0
// The order of the residual streams of Hyper-Connections.
#include <ATen/Functions.h>

#include "checkpoint/router_layout.h"
#include "model/gauge/gauge_list.h"

namespace lime {
namespace {

std::string stream_refusal(const ModelConfig& config) {
  return num_streams(config) > 1 ? "" : "it has one residual stream";
}

/// Permutes static_alpha [rate, rate + 1], static_beta [rate], and dynamic_alpha_fn [hidden, rate
/// + 1]: their first column is the input of the branch.
void permute_hyper_connection(const GaugeWeights& weights, Part part, std::int64_t layer,
                              const at::Tensor& order) {
  const at::Tensor columns = at::cat({at::zeros({1}, order.options()), order + 1});
  permute_along(weights.find(part, layer, 0), 0, order);
  permute_along(weights.find(part, layer, 0), 1, columns);
  permute_along(weights.find(part, layer, 1), 0, order);
  permute_along(weights.find(part, layer, 2), 1, columns);
}

/// Permutes fn [logits, streams * hidden] and base [logits], whose logits are those of pre, post
/// and C [streams, streams], or of pre alone.
void permute_constrained(const GaugeWeights& weights, Part part, std::int64_t layer,
                         const at::Tensor& order) {
  const at::Tensor function = weights.find(part, layer, 0);
  const std::int64_t n = order.size(0);
  at::Tensor logits = order;
  if (function.size(0) > n) {
    const at::Tensor squares = (order.unsqueeze(1) * n + order).flatten() + 2 * n;
    logits = at::cat({order, order + n, squares});
  }
  permute_along(function, 0, logits);
  permute_along(function.view({function.size(0), n, -1}), 1, order);
  permute_along(weights.find(part, layer, 2), 0, logits);
}

void permute_streams(GaugeWeights& weights, GaugeDraws& draws) {
  const ModelConfig& config = weights.config();
  const at::Tensor order = draws.permutation(num_streams(config));
  const bool is_constrained = config.routing == DepthRouting::kManifoldHyperConnections;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (is_constrained) {
      permute_constrained(weights, Part::kAttentionRouter, layer, order);
      permute_constrained(weights, Part::kFeedForwardRouter, layer, order);
    } else {
      permute_hyper_connection(weights, Part::kHyperAttention, layer, order);
      permute_hyper_connection(weights, Part::kHyperFeedForward, layer, order);
    }
  }
  if (is_constrained) permute_constrained(weights, Part::kFinalRouter, -1, order);
}

}  // namespace

const Gauge kStreamPermutation = {
    .name = "stream-permutation",
    .description = "permutes the residual streams of Hyper-Connections",
    .has_strength = false,
    .refusal = stream_refusal,
    .apply = permute_streams,
};

}  // namespace lime
