// SPDX-License-Identifier: Apache-2.0
#include "model/gauge/head_coordinates.h"

#include <ATen/Functions.h>

namespace lime {

bool has_router(const ModelConfig& config) {
  return config.routing == DepthRouting::kLime && config.lime.router != RouterKind::kNone;
}

bool mixes_heads(const ModelConfig& config) {
  return has_router(config) && config.lime.head_mixing &&
         config.lime.router != RouterKind::kAverage;
}

HeadSharing value_sharing(const ModelConfig& config) {
  const bool adds_values =
      config.routing == DepthRouting::kResFormer || config.routing == DepthRouting::kDepthAttention;
  return {has_router(config) || adds_values, mixes_heads(config)};
}

HeadSharing key_sharing(const ModelConfig& config) {
  if (config.routing == DepthRouting::kDepthAttention) return {.across_layers = true};
  if (config.spec.qk_norm != QkNorm::kNone) return {};  // gains of the norm, after the mixture
  return {has_router(config), mixes_heads(config)};
}

std::vector<std::vector<at::Tensor>> draw_for_heads(const ModelConfig& config,
                                                    const HeadSharing& sharing,
                                                    const std::function<at::Tensor()>& draw) {
  std::vector<std::vector<at::Tensor>> drawn;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (sharing.across_layers && layer > 0) {
      drawn.push_back(std::vector<at::Tensor>(drawn.front()));
      continue;
    }
    std::vector<at::Tensor>& heads = drawn.emplace_back();
    for (std::int64_t head = 0; head < config.num_key_value_heads; ++head) {
      heads.push_back(sharing.across_heads && head > 0 ? heads.front() : draw());
    }
  }
  return drawn;
}

at::Tensor for_query_heads(const ModelConfig& config, const at::Tensor& of_heads) {
  const std::int64_t group = config.num_attention_heads / config.num_key_value_heads;
  return of_heads.view({config.num_key_value_heads, 1, -1}).expand({-1, group, -1}).reshape({-1});
}

}  // namespace lime
