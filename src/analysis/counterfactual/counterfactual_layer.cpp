// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_layer.h"

#include <algorithm>
#include <utility>

#include "core/random.h"

namespace lime {

LayerRouters LayerRouters::make(const LayerRouter& trained, const HeadScales& scales,
                                std::int64_t layer,
                                const std::vector<Counterfactual>& counterfactuals,
                                const CounterfactualOptions& options, std::int64_t draws) {
  LayerRouters result;
  result.layer = layer;
  for (const Counterfactual& counterfactual : counterfactuals) {
    const bool cuts_later =
        counterfactual.kind == CounterfactualKind::kCut && counterfactual.number > layer;
    if (cuts_later) continue;
    Variant variant{counterfactual.name(), {}};
    for (std::int64_t draw = 0; draw < (counterfactual.is_random() ? draws : 1); ++draw) {
      CounterfactualOptions drawn = options;
      drawn.seed = Random(options.seed).fork(static_cast<std::uint64_t>(draw))();
      LayerRouter router =
          counterfactual.kind == CounterfactualKind::kTrained
              ? trained
              : counterfactual_router(trained, scales, layer, counterfactual, drawn);
      if (router.is_zero()) break;  // nothing to measure
      const auto found = std::find(result.distinct.begin(), result.distinct.end(), router);
      variant.routers.push_back(static_cast<std::size_t>(found - result.distinct.begin()));
      if (found == result.distinct.end()) result.distinct.push_back(std::move(router));
    }
    if (!variant.routers.empty()) result.variants.push_back(std::move(variant));
  }
  return result;
}

}  // namespace lime
