// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/recipes.h"

namespace lime {

const std::vector<Recipe>& all_recipes() {
  static const std::vector<Recipe> recipes = {
      {"entropy", "entropy", "entropy over layers with 95 % intervals and ceiling", entropy_figure},
      {"router-mean", "router", "share of each buffered layer in each layer's keys and values",
       router_mean_figure},
      {"router-heads", "router", "the same for every head, a panel per layer", router_heads_figure},
      {"router-signed", "router", "the routers' weights with their signs", router_signed_figure},
  };
  return recipes;
}

}  // namespace lime
