// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/counterfactual/counterfactual_analysis.h"
#include "analysis/router/routers.h"
#include "metrics/router/counterfactual_router.h"
#include "metrics/router/layer_router.h"
#include "store/capture_reader.h"

namespace lime {

/// Routers to measure in one layer. Several names may denote the same matrix, which is measured
/// once, e.g. all that keep at least as many layers as there are.
struct LayerRouters {
  struct Variant {
    std::string name;
    std::vector<std::size_t> routers;  ///< indices in `distinct` or `rules`, one per draw
  };
  /// Replacement of weights that depend on the token.
  struct Rule {
    Counterfactual counterfactual;
    CounterfactualOptions options;
  };
  std::int64_t layer = 0;
  MixedInput input;
  std::vector<LayerRouter> distinct;
  std::optional<TokenRouter> tokens = std::nullopt;  ///< if set, `rules` replace `distinct`
  std::vector<Rule> rules = {};
  std::vector<Variant> variants;  ///< the trained router first

  std::int64_t size() const { return tokens ? std::ssize(rules) : std::ssize(distinct); }

  /// @param counterfactuals  those that change nothing here, like a cut of a later layer, are left
  ///                         out, except for the trained one.
  static LayerRouters make(const LayerRouter& trained, const HeadScales& scales, std::int64_t layer,
                           const std::vector<Counterfactual>& counterfactuals,
                           const CounterfactualOptions& options, std::int64_t draws);
  static LayerRouters make(const TokenRouter& trained,
                           const std::vector<Counterfactual>& counterfactuals,
                           const CounterfactualOptions& options, std::int64_t draws);
};

/// Values of one quantity under one router, one per item.
struct RoutedQuantity {
  std::string router;
  std::string quantity;         ///< entropy, effective_rank, separability
  std::optional<double> alpha;  ///< of entropies
  std::string items;            ///< sequences or folds
  double ceiling = 0.0;         ///< largest possible mean
  std::vector<double> values;   ///< [items]
};

struct CounterfactualLayer {
  std::vector<RoutedQuantity> quantities;
  /// Largest difference of the trained router's routed values from those captured, over the largest
  /// captured one; empty if the capture has no routed values of this layer.
  std::optional<double> deviation = std::nullopt;
};

bool has_classes(const CaptureReader& capture);

/// Measures the routed values of one layer under each router: the accuracy of a linear probe on
/// their classes per fold; without classes the entropies and the effective rank of each sequence.
/// @throws InvalidArgument  if a class has fewer rows than folds, or a value is not finite.
CounterfactualLayer measure_routed_layer(const CaptureReader& capture, const LayerRouters& routers,
                                         const CounterfactualAnalysisOptions& options,
                                         const UnitContext& context);
void plan_routed_layer(Unit& unit, const CaptureReader& capture, const LayerRouters& routers,
                       const CounterfactualAnalysisOptions& options);

}  // namespace lime
