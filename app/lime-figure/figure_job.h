// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "core/json.h"
#include "viz/figure_source.h"
#include "viz/figure_style.h"
#include "viz/recipes/recipe.h"

namespace lime {

struct FigureJob {
  std::vector<FigureSource> sources;
  FigureOptions figure;
  FigureStyle style;
};

/// Reads the sources of a job: files, or folders of them.
/// @throws what figure_files() and read_figure_source() throw
std::vector<FigureSource> read_figure_sources(const std::vector<std::filesystem::path>& paths);

/// Returns the provenance of the figure: command, options and the provenance of each results file.
/// Its time is the latest of the results, so that equal results give equal bytes.
Json provenance_of(const FigureJob& job);

}  // namespace lime
