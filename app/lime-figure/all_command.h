// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.h"
#include "viz/figure_style.h"
#include "viz/recipes/figure_options.h"

namespace lime {

enum class FigureFormat { kPdf, kSvg, kPng, kCsv, kTex };

template <>
struct EnumNames<FigureFormat> {
  static constexpr std::array<std::pair<FigureFormat, std::string_view>, 5> kNames = {
      {{FigureFormat::kPdf, "pdf"},
       {FigureFormat::kSvg, "svg"},
       {FigureFormat::kPng, "png"},
       {FigureFormat::kCsv, "csv"},
       {FigureFormat::kTex, "tex"}}};
};

/// Options of `lime-figure all`, which draws every figure that the given files support.
struct AllCommand {
  std::vector<std::filesystem::path> results;
  std::filesystem::path output = "figures";
  std::vector<FigureFormat> format = {FigureFormat::kPdf};
  bool quiet = false;
  FigureOptions figure;
  FigureStyle style;

  void describe(OptionList& options);
  /// @throws InvalidArgument
  void validate() const;
};

/// Draws the figures and prints their paths. Training logs share one figure; every other file gets
/// one figure per kind that shows its metric. @return exit status
int run_all(const AllCommand& command);

}  // namespace lime
