// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "core/json.h"
#include "core/options.h"
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

/// Results and the options of their figures, which all commands share.
struct FigureRequest {
  std::vector<std::filesystem::path> results;
  FigureOptions figure;
  FigureStyle style;

  void describe(OptionList& options);
  void validate() const;
};

enum class FigureFormat { kPdf, kSvg, kPng, kCsv, kTex };

constexpr auto names_of(FigureFormat) {
  return names_in_order<FigureFormat>("pdf", "svg", "png", "csv", "tex");
}

/// Options of `lime-figure all`, which draws every figure that the given files support.
struct AllCommand : FigureRequest {
  std::filesystem::path output = "figures";
  std::vector<FigureFormat> format = {FigureFormat::kPdf};
  bool quiet = false;

  void describe(OptionList& options);
  void validate() const;
};

/// Options of `lime-figure report`: every figure, its numbers and its provenance in one HTML file.
struct ReportCommand : FigureRequest {
  std::filesystem::path output = "report.html";

  void describe(OptionList& options);
  void validate() const;
};

/// Writes the report. @return exit status
int run_report(const ReportCommand& command);

/// Draws the figures and prints their paths. Training logs share one figure; every other file gets
/// one figure per kind that shows its metric. @return exit status
int run_all(const AllCommand& command);

}  // namespace lime
