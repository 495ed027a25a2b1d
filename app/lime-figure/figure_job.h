// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "viz/figure_source.h"
#include "viz/figure_style.h"
#include "viz/recipes/figure_options.h"

namespace lime {

/// One figure to be drawn: of what, what of it, and how it looks.
struct FigureJob {
  std::vector<FigureSource> sources;
  FigureOptions figure;
  FigureStyle style;
};

/// Reads the sources of a job: files, or folders of them.
/// @throws what figure_files() and read_figure_source() throw
std::vector<FigureSource> read_figure_sources(const std::vector<std::filesystem::path>& paths);

/// The command that draws the job's figure, without the files to write: "lime-figure a.json --kind
/// router-heads". Options that are as by default are left out.
std::string command_of(const FigureJob& job);

/// Where the figure comes from: the command, its options and, file by file, what the results say of
/// theirs. Its time is the latest of the results', so that the same results make the same bytes.
Json provenance_of(const FigureJob& job);

}  // namespace lime
