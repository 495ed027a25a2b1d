// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viz/recipes/recipe.h"

namespace lime::testing {

/// Entropies of `layers` layers of two models, values and hidden states.
FigureSource sample_entropy(int layers = 4);

/// Maps and weights of a router with as many heads in each of `layers` layers.
FigureSource sample_router(int layers = 4, int heads = 2);

}  // namespace lime::testing
