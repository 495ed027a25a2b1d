// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "core/options.h"
#include "figure_request.h"

namespace lime {

enum class FigureFormat { kPdf, kSvg, kPng, kCsv, kTex };

constexpr auto names_of(FigureFormat) {
  using enum FigureFormat;
  return enum_table<FigureFormat>(
      {{kPdf, "pdf"}, {kSvg, "svg"}, {kPng, "png"}, {kCsv, "csv"}, {kTex, "tex"}});
}

/// Options of `lime-figure all`, which draws every figure that the given files support.
struct AllCommand : FigureRequest {
  std::filesystem::path output = "figures";
  std::vector<FigureFormat> format = {FigureFormat::kPdf};
  bool quiet = false;

  void describe(OptionList& options);
  void validate() const;
};

/// Draws the figures and prints their paths. Training logs share one figure; every other file gets
/// one figure per kind that shows its metric. @return exit status
int run_all(const AllCommand& command);

}  // namespace lime
