// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "viz/recipes/recipe.h"

// One function per figure; all_recipes() says what each shows.

namespace lime {

Figure entropy_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure separability_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure cloud_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure geometry_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure similarity_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure router_mean_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure router_heads_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure router_signed_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure blimp_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure blimp_table(std::span<const FigureSource> sources, const FigureOptions& options);
Figure loss_figure(std::span<const FigureSource> sources, const FigureOptions& options);
Figure cost_table(std::span<const FigureSource> sources, const FigureOptions& options);
Figure comparison_figure(std::span<const FigureSource> sources, const FigureOptions& options);

/// Ticks of `count` layers or heads, about ten of them, the first called `base`.
std::vector<AxisTick> layer_ticks(int count, int base);

}  // namespace lime
