// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/recipes.h"

namespace lime {

const std::vector<Recipe>& all_recipes() {
  static const std::vector<Recipe> recipes = {
      {"entropy",
       {"entropy"},
       "entropy over layers with 95 % intervals and ceiling",
       entropy_figure},
      {"separability",
       {"separability"},
       "accuracy of probes over layers, with error bars, controls and the commonest class",
       separability_figure},
      {"clouds", {"tsne"}, "t-SNE of each layer, one legend", cloud_figure},
      {"geometry",
       {"geometry"},
       "ranks, anisotropy, curvature and dimension over layers",
       geometry_figure},
      {"similarity",
       {"similarity"},
       "CKA or Procrustes distance of layers with layers",
       similarity_figure},
      {"router-mean",
       {"router"},
       "share of each buffered layer in each layer's keys and values",
       router_mean_figure},
      {"router-heads",
       {"router"},
       "the same for every head, a panel per layer",
       router_heads_figure},
      {"router-signed", {"router"}, "the routers' weights with their signs", router_signed_figure},
      {"counterfactual",
       {"counterfactual"},
       "routed values under each router over layers: entropy, rank, separability",
       counterfactual_figure},
      {"counterfactual-change",
       {"counterfactual"},
       "how much each router changes from the trained one, with paired intervals",
       counterfactual_change_figure},
      {"counterfactual-gap",
       {"counterfactual"},
       "gap to the plain transformer, split into better projections and mixing",
       counterfactual_gap_figure},
      {"blimp",
       {"blimp"},
       "accuracy on minimal pairs: of probes over layers, or zero-shot as bars",
       blimp_figure},
      {"blimp-table", {"blimp"}, "the same as a table by phenomenon", blimp_table},
      {"loss", {"training"}, "loss over steps, tokens or FLOPs", loss_figure},
      {"cost", {"cost"}, "the efficiency table: parameters, operations, cache", cost_table},
      {"comparison",
       {"entropy", "separability", "geometry", "blimp"},
       "differences of models over layers, starred where they are no chance",
       comparison_figure},
  };
  return recipes;
}

}  // namespace lime
