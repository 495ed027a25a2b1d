// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "viz/figure.h"
#include "viz/figure_source.h"
#include "viz/figure_style.h"
#include "viz/recipes/recipe.h"

namespace lime {

/// Files drawn together, and the suffix that tells their figures from others of the metric.
struct SourceGroup {
  std::vector<FigureSource> sources;
  std::string suffix;
};

/// Groups the sources: training logs share their figures, each other file has figures of its own.
std::vector<SourceGroup> group_sources(std::vector<FigureSource> sources);

/// Throws InvalidArgument if no figure of the groups reads an option that is set.
void check_figure_options(const std::vector<SourceGroup>& groups, const FigureOptions& options);

/// A figure of a group, and how it was made.
struct DrawnFigure {
  const Recipe& recipe;
  std::string name;  ///< of its file, without the extension
  Figure figure;
  Json provenance;
};

using DrawnFigureFn = std::function<void(const DrawnFigure&)>;

/// Calls `use` with each figure of the groups. @return number of figures
/// @throws InvalidArgument  if there is none.
int for_each_figure(const std::vector<SourceGroup>& groups, const FigureOptions& options,
                    const FigureStyle& style, const DrawnFigureFn& use);

}  // namespace lime
