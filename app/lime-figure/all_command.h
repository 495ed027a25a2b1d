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

/// `lime-figure all`: every figure that some files can feed.
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

/// Draws and says where the figures lie. Logs of training share one figure; every other file has
/// its own, one per kind that shows its metric. @return exit status
int run_all(const AllCommand& command);

}  // namespace lime
