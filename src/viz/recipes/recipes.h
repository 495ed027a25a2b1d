// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "viz/recipes/recipe.h"

namespace lime {

Figure entropy_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure router_mean_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure router_heads_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure router_signed_figure(std::span<const FigureSource> sources, const FigureOptions& options);

}  // namespace lime
